"""`polyprobe eval` and `demo`: score a model."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from polyprobe.scoring.chat import parse_chat_options, take_chat
from polyprobe.scoring.embedded import TRAINED
from polyprobe.scoring.options import (
    BOS,
    CHOICES,
    FINAL_STOPS,
    LETTERS,
    MOST_TOKENS,
    PRODUCTS,
    SCORING_NAMES,
    check_adapter,
    check_attention,
    check_final_stop,
    check_model,
    check_permutations,
    check_quantize,
    check_revision,
    check_server,
    take_decoding,
    take_workers,
)
from polyprobe.system.devices import DTYPES, check_device
from polyprobe.system.extras import explain_missing_extras

from .metrics import XfactrOption, show_run
from .options import (
    Relations,
    check_dataset,
    checked,
    one_of,
    parse_exclude,
    parse_splits,
    split_list,
)

ModelOption = partial(typer.Option, rich_help_panel="Model")
ServerOption = partial(typer.Option, rich_help_panel="Served models")
ChatOption = partial(typer.Option, rich_help_panel="Chat")
WorkerOption = partial(typer.Option, rich_help_panel="Workers")
OTHERS = ("el", "hy", "ka", "ko", "ta", "th")
GROUPS = (
    "between other languages",
    "between a trained and another language",
    "between trained languages",
)


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            callback=checked(check_model),
            help="Hub id, local folder (also of a PEFT adapter), GGUF file, or the embedded geolm.",
        ),
    ],
    dataset: Annotated[
        str,
        typer.Option(
            callback=checked(check_dataset), help="Folder, name, or OWNER/NAME on the Hub."
        ),
    ],
    output: Annotated[Path, typer.Option(help="Run folder; repeat the command to resume.")],
    config: Annotated[
        str | None, typer.Option(help="Configuration of the dataset (default: the dataset's own).")
    ] = None,
    languages: Annotated[
        str | None, typer.Option(help="Comma-separated language codes (default: all).")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N rows, often of a single relation.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Only N rows spread over all relations.")
    ] = None,
    relations: Relations = None,
    exclude: Annotated[
        str | None,
        typer.Option(
            help="Leave out rows of these relations or with these flags; none: keep all "
            "(default: the flag second_answers, unless --relations are given)."
        ),
    ] = None,
    donor: Annotated[
        bool,
        typer.Option(
            "--donor/--no-donor",
            help="Also score each fact's candidates in another subject's sentence, for the "
            "subject-corrected figures.",
        ),
    ] = True,
    prompt_probability: Annotated[
        bool,
        typer.Option(
            "--prompt-probability",
            help="Also store the log-probability of the text before the slot (causal models, "
            "--scoring object).",
        ),
    ] = False,
    scoring: Annotated[
        str,
        typer.Option(
            callback=one_of(SCORING_NAMES),
            help="Scoring protocol: bmlama (equations 8-10); object, object-tokens, "
            "object-characters, object-bytes (the object alone: sum, or mean by length); "
            "contrastive, contrastive-released (the object's first sub-word); letters "
            "(the candidates as options A, B, C …, the letter of each); for masked models pll, "
            "pll-word-l2r (the sentence, one mask at a time), mpararel, mpararel-released (all "
            "masks at once), xfactr (free decoding).",
        ),
    ] = "bmlama",
    final_stop: Annotated[
        str,
        typer.Option(
            callback=one_of(FINAL_STOPS),
            help="Full stop at the end of each prompt, for --scoring mpararel: none, . or 。.",
        ),
    ] = "none",
    revision: Annotated[str | None, ModelOption(help="Branch, tag or commit of the model.")] = None,
    permutations: Annotated[
        int | None,
        ModelOption(
            min=1,
            max=len(LETTERS),
            help="Number of orders of the options, for --scoring letters (default: one for each "
            "candidate).",
        ),
    ] = None,
    adapter: Annotated[
        str | None,
        ModelOption(
            callback=checked(check_adapter),
            help="PEFT adapter of the model: folder, Hub id or ID@REVISION.",
        ),
    ] = None,
    quantize: Annotated[
        str | None,
        ModelOption(
            callback=checked(check_quantize),
            help="Round the weights with bitsandbytes: 8bit or 4bit (default: neither).",
        ),
    ] = None,
    trust_remote_code: Annotated[
        bool,
        ModelOption("--trust-remote-code", help="Run the Python files that the model brings."),
    ] = False,
    bos: Annotated[
        str,
        ModelOption(
            callback=one_of(BOS),
            help="Begin-of-sequence token: auto (as the tokenizer), always or never; decoder-only "
            "models.",
        ),
    ] = "auto",
    device: Annotated[
        str, ModelOption(callback=checked(check_device), help="auto, cpu, cuda, mps, cuda:1, …")
    ] = "auto",
    dtype: Annotated[
        str, ModelOption(callback=one_of(DTYPES), help=f"{', '.join(DTYPES)}.")
    ] = "float32",
    batch_tokens: Annotated[
        int | None,
        ModelOption(
            min=1, max=MOST_TOKENS, help="Token budget of a batch (default: by path and memory)."
        ),
    ] = None,
    product: Annotated[
        str | None,
        ModelOption(
            callback=one_of(PRODUCTS),
            help="Matrix products in float32 on a CPU: torch or onednn (default: the faster one).",
        ),
    ] = None,
    attention: Annotated[
        str | None,
        ModelOption(
            callback=checked(check_attention),
            help="sdpa, eager, flash_attention_2, … (default: the model's).",
        ),
    ] = None,
    server: Annotated[
        str | None,
        ServerOption(
            help="Address of a server that has MODEL: vLLM, llama.cpp, or OpenAI's completions "
            "with echo; its key, if any, is read from POLYPROBE_API_KEY."
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        ServerOption(
            help="Tokenizer of the served model: Hub id, folder or GGUF file (default: MODEL)."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only count the queries, prompts and tokens to score."),
    ] = False,
    chat: Annotated[
        bool,
        ChatOption(
            "--chat",
            help="Score each sentence as the beginning of an answer by the model's chat template, "
            "without thinking; decoder-only models.",
        ),
    ] = False,
    system: Annotated[str | None, ChatOption(help="System message (default: none).")] = None,
    user: Annotated[
        str | None, ChatOption(help="The user's message before the answer (default: empty).")
    ] = None,
    chat_option: Annotated[
        list[str] | None,
        ChatOption(
            metavar="KEY=VALUE",
            help="Value of a variable of the chat template (true, false, a number or text); "
            "repeatable.",
        ),
    ] = None,
    devices: Annotated[
        int,
        WorkerOption(
            min=1, help="Number of processes, one device each; on CPUs they share the cores."
        ),
    ] = 1,
    ray: Annotated[
        str | None,
        WorkerOption(
            help="Score on Ray: HOST:PORT, auto (a running cluster, else a new one) or local."
        ),
    ] = None,
    threads: Annotated[
        int | None,
        WorkerOption(
            min=1,
            help="Torch threads of each process (default: all cores, shared by --devices); on a "
            "machine shared with others fewer are faster.",
        ),
    ] = None,
    cache: Annotated[bool, WorkerOption(help="Share scores with other runs in the cache.")] = True,
    initial: Annotated[
        str | None,
        XfactrOption(
            callback=one_of(CHOICES["initial"]),
            help="How the masks are filled first: independent (all at once), order (from left to "
            "right) or confidence (the most probable first) (default: independent).",
        ),
    ] = None,
    refinement: Annotated[
        str | None,
        XfactrOption(
            callback=one_of(CHOICES["refinement"]),
            help="How filled masks are predicted again: none, order (from left to right) or "
            "confidence (the least probable first) (default: none).",
        ),
    ] = None,
    max_masks: Annotated[
        int | None,
        XfactrOption(
            min=1, help="Maximum number of masks (default: 5 for en, fr, nl, es; 10 for others)."
        ),
    ] = None,
    length_norm: Annotated[
        bool, XfactrOption("--length-norm", help="Compare lengths by the mean log-probability.")
    ] = False,
    recompute: Annotated[
        bool,
        XfactrOption(
            "--recompute",
            help="After each change recompute the probability of every filled token, which the "
            "choice of the next one depends on (slow).",
        ),
    ] = False,
    beam: Annotated[int | None, XfactrOption(min=1, help="Beam size (default: 1).")] = None,
    refresh: Annotated[
        str | None,
        XfactrOption(
            callback=one_of(CHOICES["refresh"]),
            help="Probability of a token that is predicted again and stays the same: always (the "
            "new one, the paper) or released (the old one, the released code) (default: always).",
        ),
    ] = None,
    gold: Annotated[
        bool,
        XfactrOption(
            "--gold", help="Also read the log-probability of each right answer (its tokens' sum)."
        ),
    ] = False,
) -> None:
    """Evaluate a model on a dataset; write scores, results.json and report.html."""
    decoding: dict[str, Any] = {
        "initial": initial,
        "refinement": refinement,
        "max_masks": max_masks,
        "length_norm": length_norm or None,
        "recompute": recompute or None,
        "beam": beam,
        "refresh": refresh,
        "gold": gold or None,
    }
    chatting: dict[str, Any] = {
        "chat": chat or None,
        "system": system,
        "user": user,
        "chat_options": parse_chat_options(chat_option) if chat_option else None,
    }
    options: dict[str, Any] = {
        "scoring": scoring,
        "devices": devices,
        "ray": ray,
        "threads": threads,
        "cache": cache,
        "server": server,
        "tokenizer": tokenizer,
        "revision": revision,
        "permutations": permutations,
        "adapter": adapter,
        "quantize": quantize,
        "trust_remote_code": trust_remote_code,
        "bos": bos,
        "device": device,
        "dtype": dtype,
        "batch_tokens": batch_tokens,
        "product": product,
        "attention": attention,
        **{name: value for name, value in (decoding | chatting).items() if value is not None},
    }
    from polyprobe.eval.prompts import check_scoring
    from polyprobe.schema.run.rows import check_limits

    for take in (check_server, take_decoding, take_workers, take_chat):  # before torch is imported
        take(dict(options))
    check_revision((server and tokenizer) or model, revision)
    check_permutations(permutations, scoring)
    check_scoring(prompt_probability, scoring)
    check_final_stop(final_stop, scoring)
    check_limits(limit, sample)
    with explain_missing_extras("evaluating"):
        from polyprobe.eval.evaluate import run_evaluation
    finished = run_evaluation(
        model,
        dataset,
        config,
        output=output,
        dry_run=dry_run,
        languages=parse_splits(languages),
        limit=limit,
        sample=sample,
        relations=None if relations is None else split_list(relations),
        exclude=parse_exclude(exclude),
        donor=donor,
        prompt_probability=prompt_probability,
        final_stop=final_stop,
        **options,
    )
    if finished:
        show_run(finished)


def demo(
    output: Annotated[Path, typer.Option(help="Run folder.")] = Path("demo-run"),
    every: Annotated[bool, typer.Option("--all", help="All 51 languages.")] = False,
) -> None:
    """Evaluate the embedded model in six languages of its training data and six others."""
    with explain_missing_extras("evaluating"):
        from polyprobe.eval.evaluate import run_evaluation

    say = Console().print
    say("geolm is a small model trained on the facts of geofacts in " + " ".join(TRAINED) + ".")
    say("It should be consistent between these languages, and guess in all others.")
    languages = None if every else [*TRAINED, *OTHERS]
    finished = run_evaluation("geolm", "geofacts", output=output, languages=languages)
    assert finished
    show_run(finished)
    say("\ncorrected RankC (0: the rankings do not depend on the subject, 1: they agree):")
    for group, value in group_means(finished.results["rankc_subject"]).items():
        say(f"  {group}: {value:z.3f}", highlight=False)
    say("\nTo evaluate your own model:", highlight=False)
    say("  polyprobe eval OWNER/MODEL --dataset geofacts --output my-run", highlight=False)


def group_means(pairs: dict[str, float]) -> dict[str, float]:
    """Return the mean of each group of pairs, by the number of languages in the training data."""
    groups: dict[str, list[float]] = {group: [] for group in reversed(GROUPS)}
    for pair, value in pairs.items():
        groups[GROUPS[sum(language in TRAINED for language in pair.split("-"))]].append(value)
    return {group: sum(values) / len(values) for group, values in groups.items()}

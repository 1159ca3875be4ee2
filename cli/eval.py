"""`polyprobe eval`: put a model in front of a dataset."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polyprobe.system.extras import explain_missing_extras

from .options import parse_splits
from .show.run import show_run


def evaluate(
    model: Annotated[
        str, typer.Argument(help="Hub id, local folder, GGUF file, or the embedded geolm.")
    ],
    dataset: Annotated[str, typer.Option(help="Folder, name, or OWNER/NAME on the Hub.")],
    output: Annotated[Path, typer.Option(help="The run folder; repeat the call to go on.")],
    config: Annotated[str | None, typer.Option(help="Configuration of the dataset.")] = None,
    languages: Annotated[str | None, typer.Option(help="As en,fr,zh; all by default.")] = None,
    limit: Annotated[
        int | None, typer.Option(help="The first N rows, often of a single relation.")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="N rows spread over all relations.")] = None,
    revision: Annotated[str | None, typer.Option(help="The model's branch, tag or commit.")] = None,
    scoring: Annotated[
        str,
        typer.Option(
            help="bmlama (equations 8-10); object, object-tokens, object-characters, object-bytes "
            "(the object alone: sum, or by length); contrastive (its first sub-word); masked "
            "models: pll, pll-word-l2r (the sentence, each token masked in its turn), mpararel, "
            "mpararel-released (all masks at once), xfactr (free decoding)."
        ),
    ] = "bmlama",
    bos: Annotated[
        str,
        typer.Option(help="auto (as the tokenizer does), always or never; decoder-only models."),
    ] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps, …")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    batch_tokens: Annotated[
        int | None, typer.Option(help="Token budget of a batch; by default by path and memory.")
    ] = None,
    attention: Annotated[
        str | None, typer.Option(help="sdpa, eager, flash_attention_2, …; the model's by default.")
    ] = None,
    devices: Annotated[
        int,
        typer.Option(help="Processes, each with a device of its own; on CPUs they share cores."),
    ] = 1,
    ray: Annotated[
        str | None,
        typer.Option(help="Score on Ray: HOST:PORT, auto (one here, else a new one) or local."),
    ] = None,
    cache: Annotated[
        bool, typer.Option(help="Take known scores from the cache of all runs, and keep new ones.")
    ] = True,
    initial: Annotated[
        str | None,
        typer.Option(help="xfactr: fill masks independent (default), by order or confidence."),
    ] = None,
    refinement: Annotated[
        str | None, typer.Option(help="xfactr: none (default), by order or confidence.")
    ] = None,
    max_masks: Annotated[
        int | None, typer.Option(help="xfactr: most masks; 5 in en fr nl es, 10 elsewhere.")
    ] = None,
    length_norm: Annotated[
        bool, typer.Option("--length-norm", help="xfactr: compare lengths by mean log-probability.")
    ] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="xfactr: ask anew for confidences at each change.")
    ] = False,
    beam: Annotated[int | None, typer.Option(help="xfactr: hypotheses kept, 1 by default.")] = None,
    refresh: Annotated[
        str | None,
        typer.Option(help="xfactr: confidence of a token that stays: always (default), released."),
    ] = None,
) -> None:
    """Score a dataset with a model, and write results.json and report.html."""
    with explain_missing_extras("evaluating"):
        from polyprobe.eval.evaluate import run_evaluation  # imports torch

    decoding: dict[str, Any] = {
        "initial": initial,
        "refinement": refinement,
        "max_masks": max_masks,
        "length_norm": length_norm or None,
        "recompute": recompute or None,
        "beam": beam,
        "refresh": refresh,
    }
    finished = run_evaluation(
        model,
        dataset,
        config,
        output=output,
        languages=parse_splits(languages),
        limit=limit,
        sample=sample,
        revision=revision,
        scoring=scoring,
        bos=bos,
        device=device,
        dtype=dtype,
        batch_tokens=batch_tokens,
        attention=attention,
        devices=devices,
        ray=ray,
        cache=cache,
        **{name: value for name, value in decoding.items() if value is not None},
    )
    show_run(finished)

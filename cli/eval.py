"""`polyprobe eval`: evaluate a model on a dataset."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polyprobe.system.extras import explain_missing_extras

from .options import parse_splits
from .show.run import show_run

XFACTR = "Free decoding (--scoring xfactr)"
LOADING = "Model"
WORKERS = "Workers"


def evaluate(
    model: Annotated[
        str, typer.Argument(help="Hub id, local folder, GGUF file, or the embedded geolm.")
    ],
    dataset: Annotated[str, typer.Option(help="Folder, name, or OWNER/NAME on the Hub.")],
    output: Annotated[Path, typer.Option(help="Run folder; repeat the command to resume.")],
    config: Annotated[
        str | None,
        typer.Option(help="Configuration of the dataset (default: the dataset's own)."),
    ] = None,
    languages: Annotated[
        str | None, typer.Option(help="Comma-separated language codes (default: all).")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Only the first N rows, often of a single relation.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="Only N rows spread over all relations.")
    ] = None,
    scoring: Annotated[
        str,
        typer.Option(
            help="Scoring protocol: bmlama (equations 8-10); object, object-tokens, "
            "object-characters, object-bytes (the object alone: sum, or mean by length); "
            "contrastive (the object's first sub-word); for masked models pll, pll-word-l2r "
            "(the sentence, one mask at a time), mpararel, mpararel-released (all masks at once), "
            "xfactr (free decoding)."
        ),
    ] = "bmlama",
    revision: Annotated[
        str | None,
        typer.Option(help="Branch, tag or commit of the model.", rich_help_panel=LOADING),
    ] = None,
    bos: Annotated[
        str,
        typer.Option(
            help="Begin-of-sequence token: auto (as the tokenizer), always or never; decoder-only "
            "models.",
            rich_help_panel=LOADING,
        ),
    ] = "auto",
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda, mps, …", rich_help_panel=LOADING)
    ] = "auto",
    dtype: Annotated[
        str, typer.Option(help="float32, bfloat16 or float16.", rich_help_panel=LOADING)
    ] = "float32",
    batch_tokens: Annotated[
        int | None,
        typer.Option(
            help="Token budget of a batch (default: by path and memory).", rich_help_panel=LOADING
        ),
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(
            help="sdpa, eager, flash_attention_2, … (default: the model's).",
            rich_help_panel=LOADING,
        ),
    ] = None,
    devices: Annotated[
        int,
        typer.Option(
            help="Number of processes, one device each; on CPUs they share the cores.",
            rich_help_panel=WORKERS,
        ),
    ] = 1,
    ray: Annotated[
        str | None,
        typer.Option(
            help="Score on Ray: HOST:PORT, auto (a running cluster, else a new one) or local.",
            rich_help_panel=WORKERS,
        ),
    ] = None,
    cache: Annotated[
        bool,
        typer.Option(help="Share scores with other runs in the cache.", rich_help_panel=WORKERS),
    ] = True,
    initial: Annotated[
        str | None,
        typer.Option(
            help="First pass over the masks: independent, order or confidence "
            "(default: independent).",
            rich_help_panel=XFACTR,
        ),
    ] = None,
    refinement: Annotated[
        str | None,
        typer.Option(
            help="Second pass: none, order or confidence (default: none).", rich_help_panel=XFACTR
        ),
    ] = None,
    max_masks: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of masks (default: 5 for en, fr, nl, es; 10 for others).",
            rich_help_panel=XFACTR,
        ),
    ] = None,
    length_norm: Annotated[
        bool,
        typer.Option(
            "--length-norm",
            help="Compare lengths by the mean log-probability.",
            rich_help_panel=XFACTR,
        ),
    ] = False,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute",
            help="Recompute confidences after each change.",
            rich_help_panel=XFACTR,
        ),
    ] = False,
    beam: Annotated[
        int | None,
        typer.Option(help="Beam size (default: 1).", rich_help_panel=XFACTR),
    ] = None,
    refresh: Annotated[
        str | None,
        typer.Option(
            help="Confidence of unchanged tokens: always or released (default: always).",
            rich_help_panel=XFACTR,
        ),
    ] = None,
) -> None:
    """Evaluate a model on a dataset; write scores, results.json and report.html."""
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

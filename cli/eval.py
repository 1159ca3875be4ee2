"""`polyprobe eval`: put a model in front of a dataset."""

from pathlib import Path
from typing import Annotated

import typer

from .output import show_run


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
        str, typer.Option(help="bmlama, the one there is: equations 8-10 of the paper.")
    ] = "bmlama",
    bos: Annotated[
        str,
        typer.Option(help="auto (as the tokenizer does), always or never; decoder-only models."),
    ] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps, …")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    batch_tokens: Annotated[
        int | None, typer.Option(help="Token budget of a batch; by default chosen by device.")
    ] = None,
) -> None:
    """Score a dataset with a model, and write results.json and report.html."""
    from polyprobe.eval import evaluate_model  # here, because it imports torch

    evaluate_model(
        model,
        dataset,
        config,
        output=output,
        languages=split_languages(languages),
        limit=limit,
        sample=sample,
        revision=revision,
        scoring=scoring,
        bos=bos,
        device=device,
        dtype=dtype,
        batch_tokens=batch_tokens,
    )
    show_run(output)


def split_languages(text: str | None) -> list[str] | None:
    """Return the languages of a comma-separated list; None stays None, for all.

    >>> split_languages("en, zh-hans")
    ['en', 'zh_hans']
    """
    if text is None:
        return None
    return [part.strip().replace("-", "_") for part in text.split(",") if part.strip()]

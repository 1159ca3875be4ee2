"""`polyprobe eval` and `demo`: score a model."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.eval.options import EvaluationOptions, EvaluationRequest
from polyprobe.scoring.embedded import TRAINED
from polyprobe.system.extras import explain_missing_extras
from polyprobe.system.progress import Console, report

from .metrics import show_run
from .options import take_options

OTHERS = ("el", "hy", "ka", "ko", "ta", "th")
GROUPS = (  # of pairs, by the number of languages in the training data
    "between other languages",
    "between a trained and another language",
    "between trained languages",
)


@take_options(EvaluationOptions)
def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            help="Hub id, local folder (also of a PEFT adapter), GGUF file, or the embedded geolm."
        ),
    ],
    dataset: Annotated[str, typer.Option(help="Folder, name, or OWNER/NAME on the Hub.")],
    output: Annotated[Path, typer.Option(help="Run folder; repeat the command to resume.")],
    config: Annotated[
        str | None, typer.Option(help="Configuration of the dataset (default: the dataset's own).")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only count the queries, prompts and tokens to score."),
    ] = False,
    *,
    options: EvaluationOptions,
) -> None:
    """Evaluate a model on a dataset; write scores, results.json and report.html."""
    request = EvaluationRequest.of(model, dataset, config, options)
    with explain_missing_extras("evaluating"):  # imports torch
        from polyprobe.eval.evaluate import evaluate_request, forecast_work
    if dry_run:
        report(forecast_work(request, output))
    else:
        show_run(evaluate_request(request, output))


def demo(
    output: Annotated[Path, typer.Option(help="Run folder.")] = Path("demo-run"),
    every: Annotated[bool, typer.Option("--all", help="All 51 languages.")] = False,
) -> None:
    """Evaluate the embedded model in six languages of its training data and six others."""
    with explain_missing_extras("evaluating"):
        from polyprobe.analysis.figures.results import mean_known
        from polyprobe.eval.evaluate import evaluate_request
        from polyprobe.report.show import format_value

    show = Console().print
    show("geolm is a small model trained on the facts of geofacts in " + " ".join(TRAINED) + ".")
    show("It should be consistent between these languages, and guess in all others.")
    options = EvaluationOptions(languages=None if every else [*TRAINED, *OTHERS])
    run = evaluate_request(EvaluationRequest("geolm", "geofacts", None, options), output)
    show_run(run)
    show("\ncentred RankC (0: a language does not react to the subject, 1: both react alike):")
    groups: dict[str, list[float | None]] = {group: [] for group in reversed(GROUPS)}
    for pair, value in run.results["rankc_subject"].items():
        groups[GROUPS[sum(language in TRAINED for language in pair.split("-"))]].append(value)
    for group, values in groups.items():
        show(f"  {group}: {format_value(mean_known(values))}")
    show("\nTo evaluate your own model:")
    show("  polyprobe eval OWNER/MODEL --dataset geofacts --output my-run")

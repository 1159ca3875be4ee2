"""`polyprobe compare`: test whether two runs differ on the same facts."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from polyprobe.analysis.compare.sentences import CHRF_UNITS
from polyprobe.system.errors import PolyprobeError, check_option

from .options import (
    Cluster,
    DrawnName,
    Exclude,
    FigureFile,
    JsonFile,
    LanguageNames,
    Order,
    PageFile,
    Relations,
    Seed,
    checked,
    one_of,
    parse_choice,
    save_chosen,
    say,
)
from .outputs import Outputs

VersionOption = partial(
    typer.Option, rich_help_panel="Wordings (CONFIG, CONFIG-sentence, CONFIG-chatgpt)"
)


def check_test(name: str) -> None:
    """Refuse unknown tests."""
    from polyprobe.metrics.joint.significance import TESTS

    check_option("--test", name, TESTS)


def check_correction(name: str) -> None:
    """Refuse unknown corrections."""
    from polyprobe.metrics.joint.significance import CORRECTIONS

    check_option("--correction", name, CORRECTIONS)


def compare(
    run_a: Annotated[Path, typer.Argument(help="Run folder.")],
    run_b: Annotated[Path, typer.Argument(help="Another run folder, of the same dataset.")],
    wordings: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders of further wordings of the same configuration."),
    ] = None,
    test: Annotated[
        str,
        typer.Option(
            callback=checked(check_test),
            help="randomisation (approximate, swaps facts) or bootstrap.",
        ),
    ] = "randomisation",
    correction: Annotated[
        str,
        typer.Option(
            callback=checked(check_correction),
            help="Over languages or pairs: holm, bh (Benjamini-Hochberg) or none.",
        ),
    ] = "holm",
    resamples: Annotated[
        int,
        typer.Option(
            min=1,
            max=10_000_000,
            help="Number of permutations and bootstrap resamples; below 40: no intervals.",
        ),
    ] = 10_000,
    seed: Seed = 0,
    cluster: Cluster = "auto",
    relations: Relations = None,
    exclude: Exclude = None,
    by_relation: Annotated[
        bool, typer.Option("--by-relation", help="Also test the means of each relation.")
    ] = False,
    output: JsonFile = None,
    page: PageFile = None,
    figure: FigureFile = None,
    draw: DrawnName = None,
    order: Order = "given",
    names: LanguageNames = "codes",
    gender: Annotated[
        Path | None,
        VersionOption(
            help="TSV of subject ids and female, male or none: verb forms and recall of facts "
            "about women and men."
        ),
    ] = None,
    verb_forms: Annotated[
        Path | None,
        VersionOption(
            help="TSV of relation, language, masculine and feminine form (default: P19 and P20 in "
            "cs, hr, ru, uk)."
        ),
    ] = None,
    stanza: Annotated[
        Path | None,
        VersionOption(help="Folder of Stanza's taggers, which count feminine verb forms too."),
    ] = None,
    chrf_on: Annotated[
        str,
        VersionOption(
            callback=one_of(CHRF_UNITS),
            help="chrF of the wording with the template as reference: sentence, or prompt (the "
            "text up to the slot).",
        ),
    ] = "sentence",
    comet_python: Annotated[
        str | None, VersionOption(help="A Python with unbabel-comet: estimates quality.")
    ] = None,
    comet_model: Annotated[
        str | None,
        VersionOption(
            help="Reference-free model on the Hub, or a checkpoint (default: wmt22-cometkiwi-da)."
        ),
    ] = None,
) -> None:
    """Test whether two runs differ: accuracy by language, RankC and other figures by pair.

    For runs on two wordings of a configuration (CONFIG, CONFIG-sentence, CONFIG-chatgpt), in any
    order, it also measures the effect of wording: recall@k, mean rank, inflection, texts. Three
    wordings are shown side by side, with differences from the first of these.
    """
    outputs = Outputs(output, page, figure, draw, order, names)
    outputs.check()
    for name, value in {"--stanza": stanza, "--verb-forms": verb_forms}.items():
        if value and not gender:
            raise PolyprobeError(f"{name} is for --gender FILE; give that, or leave {name} out")
    if comet_model and not comet_python:
        raise PolyprobeError("--comet-model is for --comet-python PATH; give that too")
    from polyprobe.analysis.compare.folders import Outcome, compare_folders
    from polyprobe.analysis.compare.sentences.compare import TextOptions
    from polyprobe.analysis.compare.sentences.gender import VERB_FORMS
    from polyprobe.analysis.compare.sentences.quality import REFERENCE_FREE, Comet
    from polyprobe.report.findings.comparison import make_comparison_finding
    from polyprobe.report.page import write_comparison
    from polyprobe.schema.run.folder import Run

    if wordings and (page or figure):
        raise PolyprobeError(
            f"{'--output' if page else '--figure'} shows two runs; compare the wordings two at a "
            "time for pages and pictures"
        )
    comet = Comet(comet_python, comet_model or REFERENCE_FREE) if comet_python else None
    choice = parse_choice(relations, exclude)
    runs = [Run(folder) for folder in (run_a, run_b, *(wordings or ()))]
    outcome = compare_folders(
        runs,
        TextOptions(gender, verb_forms or VERB_FORMS, stanza, comet, chrf_on),
        {
            "--gender": gender,
            "--comet-python": comet_python,
            "--chrf-on": chrf_on != CHRF_UNITS[0],
        },
        by_relation=by_relation,
        choice=choice,
        test=test,
        correction=correction,
        n_resamples=resamples,
        seed=seed,
        clusters=cluster,
    )
    Outputs(output).write(make_comparison_finding(outcome), outcome.as_json)
    if (page or figure) and isinstance(outcome, Outcome):  # more than two runs have no page
        pictures = write_comparison((runs[0], runs[1]), outcome, page, choice)
        if page:
            say(f"report: {page}")
        if figure:
            save_chosen(pictures, figure, draw, order, names)
    if outcome.failures and (gender or comet):
        raise typer.Exit(1)

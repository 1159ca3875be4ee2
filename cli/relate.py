"""`polyprobe relate`: what correlates with the consistency of two languages."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.analysis.relate import FILLED, NAMES, check_with
from polyprobe.schema.languages import TRAITS
from polyprobe.schema.names import split_list
from polyprobe.system.errors import PolyprobeError

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
    parse_splits,
)
from .outputs import Outputs


def check_items(texts: str) -> None:
    """Refuse items that are neither names nor files or folders."""
    items = split_list(texts)
    if not items:
        raise PolyprobeError(f"--with is empty; name one or more of {', '.join(NAMES)}")
    for item in items:
        check_with(item)


def check_control(item: str) -> None:
    """Refuse an item that is neither a name nor a file or folder."""
    check_with(item, "--given")


def relate(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    items: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="WHAT[,WHAT]",
            callback=checked(check_items),
            help=f"{', '.join(NAMES)}, a TSV file with a number for each language or pair, or "
            "another run folder.",
        ),
    ],
    of: Annotated[
        str,
        typer.Option(help="Figure of pairs: rankc, rankc_adjusted, rankc_subject, coverlap, …"),
    ] = "rankc",
    control: Annotated[
        str | None,
        typer.Option(
            "--given",
            callback=checked(check_control),
            metavar="WHAT",
            help="Also report partial correlations that control for this similarity.",
        ),
    ] = None,
    languages: Annotated[
        str | None, typer.Option(help="Comma-separated language codes (default: all).")
    ] = None,
    corpus: Annotated[
        str,
        typer.Option(
            help="Corpus for subwords: filled (prompts with each candidate), prompts, a folder "
            "with a file for each language (eng_Latn.devtest), or a dataset with a split for each "
            "language."
        ),
    ] = FILLED,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="Tokenizer for subwords: a model.", show_default="that of the run"),
    ] = None,
    by_query: Annotated[
        bool,
        typer.Option(
            "--by-query", help="Also correlate subword overlap with RankC over single queries."
        ),
    ] = False,
    resamples: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000_000,
            help="Number of permutations of the languages, and maximum number of bootstrap "
            "resamples.",
        ),
    ] = 10_000,
    within: Annotated[
        str | None,
        typer.Option(
            callback=one_of(TRAITS),
            help=f"Permute languages only within the same {', '.join(TRAITS[:-1])} or "
            f"{TRAITS[-1]}.",
        ),
    ] = None,
    seed: Seed = 0,
    cluster: Cluster = "auto",
    relations: Relations = None,
    exclude: Exclude = None,
    json_file: JsonFile = None,
    page: PageFile = None,
    figure: FigureFile = None,
    draw: DrawnName = None,
    order: Order = "given",
    names: LanguageNames = "codes",
) -> None:
    """Correlate RankC of pairs of languages with shared subwords, kinship, accuracy or any table.

    It reports Pearson's and Spearman's correlations, as in the papers, and Mantel's test, because
    pairs share languages.
    """
    splits = parse_splits(languages)
    outputs = Outputs(json_file, page, figure, draw, order, names)
    outputs.check()
    from polyprobe.analysis.figures.options import Bootstrap
    from polyprobe.analysis.relate.relate import SubwordOptions, relate_run
    from polyprobe.report.findings.relate import make_relate_finding
    from polyprobe.report.page.page import write_finding
    from polyprobe.schema.run.folder import Run
    from polyprobe.system.extras import explain_missing_extras

    with explain_missing_extras("reading a tokenizer", others=True):
        result = relate_run(
            Run(run),
            split_list(items),
            of=of,
            control=control,
            languages=splits,
            choice=parse_choice(relations, exclude),
            subwords=SubwordOptions(corpus, tokenizer, by_query),
            bootstrap=Bootstrap(resamples, seed, cluster),
            within=within,
        )
    outputs.write(make_relate_finding(result), result.as_json, write_finding)

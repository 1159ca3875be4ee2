"""`polyprobe compare`, `groups`, `relate` and `board` of runs, `tokens` and `audit` of datasets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyprobe.analysis.board import TABLES, check_output
from polyprobe.analysis.compare.options import ComparisonOptions
from polyprobe.analysis.groups import OF_FACTS, OF_LANGUAGES, GroupOptions, check_by
from polyprobe.analysis.relate import NAMES, RelateOptions, check_with
from polyprobe.schema.languages import split_list
from polyprobe.schema.locate import check_dataset_name
from polyprobe.scoring.options import check_model, check_model_revision
from polyprobe.system.messages import PolyprobeError, check_ending, explain_missing_extras
from polyprobe.system.options import option

from .options import (
    Dataset,
    MapOptions,
    Outputs,
    PageOptions,
    PageOutputs,
    PictureOptions,
    checked,
    parse_splits,
    say,
    take_options,
)


@take_options(MapOptions, PageOutputs, ComparisonOptions)
def compare(
    run_a: Annotated[Path, typer.Argument(help="Run folder.")],
    run_b: Annotated[Path, typer.Argument(help="Another run folder, of the same dataset.")],
    wordings: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders of further wordings of the same configuration."),
    ] = None,
    *,
    options: Any,
) -> None:
    """Test whether two runs differ: accuracy by language, RankC and other figures by pair.

    For runs on two wordings of a configuration (CONFIG, CONFIG-sentence, CONFIG-chatgpt), in any
    order, it also measures the effect of wording: recall@k, mean rank, inflection, texts. Of three
    wordings each is compared with the first of these.
    """
    flags = {"--output": options.page, "--figure": options.figure, "--fail-if": options.fail_if}
    if wordings and (flag := next((x for x in flags if flags[x]), None)):
        raise PolyprobeError(f"{flag} is for two runs; compare the wordings two at a time")
    from polyprobe.analysis.compare.folders import compare_folders, find_status, outcomes_json
    from polyprobe.report.finding import Part
    from polyprobe.report.findings.comparison import make_several_finding
    from polyprobe.report.page import write_comparison
    from polyprobe.schema.run.folder import Run

    runs = [Run(folder) for folder in (run_a, run_b, *(wordings or ()))]
    outcomes = compare_folders(runs, options)

    def write(page: Path | None) -> Any:
        return write_comparison((runs[0], runs[1]), outcomes[0], page, options.choice)

    finding = make_several_finding(outcomes)
    if options.figure:
        finding = finding._replace(parts=[*finding.parts, Part.of_files(write(None))])
    options.write(finding, lambda: outcomes_json(outcomes), lambda _, page: write(page))
    if verdicts := outcomes[0].verdicts:
        raise typer.Exit(find_status(verdicts))
    if (options.gender or options.comet) and any(x.failures for x in outcomes):
        raise typer.Exit(1)


@take_options(PageOutputs, GroupOptions)
def groups(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    by: Annotated[
        str,
        typer.Option(
            callback=checked(check_by),
            help=f"{', '.join((*OF_FACTS, *OF_LANGUAGES))}, or a TSV file with an id (of a "
            "language, fact, subject or object) and its group in each line.",
        ),
    ],
    options: Any,
) -> None:
    """Count right and wrong rows by group, and test whether the groups differ.

    Tests: Pearson's chi-squared test, which assumes independent rows, and a permutation of the
    labels of whole facts, subjects or languages, which does not. --resamples sets the bootstrap
    only: the permutation test draws 10,000 assignments, or enumerates all if there are fewer.
    """
    from polyprobe.analysis.groups.groups import group_run
    from polyprobe.report.findings.groups import make_groups_finding
    from polyprobe.schema.run.folder import Run

    result = group_run(Run(run), by, options)
    options.write(make_groups_finding(result), result.as_json)


def check_items(texts: str) -> None:
    """Refuse items that are neither names nor files or folders."""
    items = split_list(texts)
    if not items:
        raise PolyprobeError(f"--with is empty; name one or more of {', '.join(NAMES)}")
    for item in items:
        check_with(item)


@take_options(MapOptions, PageOutputs, RelateOptions)
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
    options: Any,
) -> None:
    """Correlate RankC of pairs of languages with shared subwords, kinship, accuracy or any table.

    Pearson's and Spearman's correlations, as in papers, and Mantel's test: pairs share languages.
    """
    splits = parse_splits(options.languages)
    from polyprobe.analysis.relate.relate import relate_run
    from polyprobe.report.findings.relate import make_relate_finding
    from polyprobe.schema.run.folder import Run

    with explain_missing_extras("reading a tokenizer", any_package=True):
        result = relate_run(Run(run), split_list(items), options, splits)
    options.write(make_relate_finding(result), result.as_json)


@dataclass(frozen=True)
class BoardOptions(PictureOptions, Outputs):
    """The columns and rows of a board, and what is written."""

    output: Path | None = option(
        None,
        "Write index.html and the tables to this folder, which `polyprobe push` makes a Space.",
        check=check_output,
    )
    sort: str | None = option(
        None, "Sort by a figure (best first), name or parameters (default: the first figure)."
    )
    figures: str | None = option(
        None, "Figures to show, such as accuracy,recall_at_k.recall@5 (default: the headline ones)."
    )
    despite_differences: bool = option(False, "Accept runs that differ; show the differences.")
    table: Path | None = option(
        None,
        "Write the table to this .csv, .tex or .md file.",
        metavar="FILE",
        check=lambda file: check_ending("--table", file, TABLES),
    )


@take_options(BoardOptions)
def board(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders. Runs of one model on one language each form one row."),
    ],
    options: BoardOptions,
) -> None:
    """Show many runs in one table: means, intervals, sizes, and slopes per doubling of the size.

    Only run.json and results.json are read. Runs that differ in dataset, rows, languages, protocol
    or options are refused.
    """
    from polyprobe.analysis.board.board import make_board
    from polyprobe.report.findings.board import make_board_finding, write_models
    from polyprobe.report.page.runs import write_board
    from polyprobe.system.files import write_text

    figures = split_list(options.figures)
    differences = options.despite_differences
    result = make_board(runs, options.sort, figures, differences)
    options.write(make_board_finding(result), result.as_json)
    if options.table:
        text = write_models(result, options.table.suffix.lower())
        write_text(options.table, text, "choose another --table")
    if options.output:
        write_board(result, options.output)
        say(f"board: {options.output / 'index.html'}")


@dataclass(frozen=True)
class TokenOptions(Outputs):
    """The texts whose tokens are counted."""

    config: str | None = option(None, "Configuration of the dataset (default: the dataset's own).")
    languages: str | None = option(None, "Comma-separated language codes (default: all).")
    texts: str = option(
        "answers",
        "answers (the first correct candidate of each fact) or candidates (all).",
        choices=("answers", "candidates"),
    )
    revision: str | None = option(None, "Branch, tag or commit of the model.")


@take_options(TokenOptions)
def tokens(
    model: Annotated[
        str,
        typer.Argument(callback=checked(check_model), help="Hub id, folder, GGUF file, or geolm."),
    ],
    dataset: Dataset,
    options: TokenOptions,
) -> None:
    """Count the tokens of answers or candidates by language, with the tokenizer alone."""
    splits, texts = parse_splits(options.languages), options.texts
    check_dataset_name(dataset)
    check_model_revision(model, options.revision)
    from polyprobe.schema.columns import fingerprint
    from polyprobe.schema.load import find_default, load_facts

    tables = load_facts(dataset, options.config, splits, own_candidates=True)
    with explain_missing_extras("counting tokens"):
        from polyprobe.analysis.tokens import count_tokens
        from polyprobe.scoring.weights.places import find_tokenizer, load_tokenizer

        place = find_tokenizer(model, options.revision)
        counts = count_tokens(load_tokenizer(place), tables, texts)
    from polyprobe.report.findings.tokens import make_tokens_finding

    options.write(
        make_tokens_finding(counts, texts),
        lambda: {
            "model": model,
            "revision": place.exact_revision(),
            "dataset": dataset,
            "config": options.config or find_default(dataset),
            "fingerprint": {name: fingerprint(table) for name, table in tables.items()},
            "texts": texts,
            "languages": {name: of_language.as_json() for name, of_language in counts.items()},
        },
    )


@dataclass(frozen=True)
class AuditOptions(PageOptions, Outputs):
    """What is audited, and the files that are written."""

    config: str | None = option(None, "Configuration of the dataset.")
    languages: str | None = option(None, "Comma-separated language codes (default: all).")
    templates: bool = option(
        False, "Only count templates by relation, and their distance; default: all configurations."
    )

    def check(self) -> None:
        """Refuse one file for two formats."""
        super().check()
        if self.json_file and self.json_file == self.page:
            raise PolyprobeError(f"--json and --output both name {self.page}; choose two files")


@take_options(AuditOptions)
def audit(
    dataset: Annotated[
        str, typer.Argument(help="Folder, name, OWNER/NAME on the Hub, or a folder of BMLAMA TSVs.")
    ],
    options: AuditOptions,
) -> None:
    """Count the defects of a dataset by language, and their effect on RankC."""
    if not Path(dataset).exists():
        check_dataset_name(dataset)
    with explain_missing_extras("the audit"):  # imports that take a second
        from polyprobe.builder.audit import audit_tables, make_audit_finding, tables, to_json
    splits, name = parse_splits(options.languages), Path(dataset).resolve().name
    if options.templates:
        counts = tables.count_templates(dataset, options.config, splits)
        finding = tables.make_templates_finding(counts, name)
        options.write(finding, lambda: tables.templates_json(counts))
        return
    by_language = tables.read_tables(dataset, options.config, splits)
    result = audit_tables(by_language, f"{name}/{options.config or 'default'}")
    result = result._replace(parts=tables.count_parts(dataset, by_language))
    options.write(make_audit_finding(result), lambda: to_json(result))

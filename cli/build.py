"""`polyprobe build`: make a dataset from its sources, one subcommand for each kind."""

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from polyprobe.builder.recipes import BALANCED, EXTENSIBLE, RECIPES, REQUESTED, SOURCED
from polyprobe.builder.recipes.requests import BalancedRequest, OwnRequest, SentenceRequest
from polyprobe.builder.sources import FACT_SOURCES
from polyprobe.builder.translators import TRANSLATORS, read_pairs
from polyprobe.schema.languages import split_list
from polyprobe.system.messages import Console, check_option

from .options import one_of, say, take_options

if TYPE_CHECKING:  # polars is an extra
    import polars as pl

    from polyprobe.builder.facts.files import Addition
    from polyprobe.builder.recipes.balanced import Notes

app = typer.Typer(help="Make a dataset from its sources, with a card.", no_args_is_help=True)

Texts = list[str] | None
Mirror = Annotated[
    Path | None, typer.Option(help="Folder with the upstream archives (default: download them).")
]
Output = Annotated[Path | None, typer.Option(help="Output folder (default: datasets/NAME).")]

LABELS = "CSV file of a further language's labels (polyprobe build sheet)."
TEMPLATES = "TOML file of that language's templates."
MOST = "Maximum templates per relation, each of which adds a row per fact (default: 1)"
HEAD = ("language", "facts so far", "lost", "relations", "labelled")
LOST = ("language", "reason", "rows")
OTHERS = ("if added alone", "facts", "lost", "relations", "labelled")
MEANING = (
    "facts: with labels and a sentence in all languages so far; labelled: with labels (if facts "
    "fall to 0 and labelled do not, the language has no templates)"
)


def add_recipe(name: str) -> None:
    """Add the subcommand of a published dataset."""
    configs, variants = RECIPES[name].configs, RECIPES[name].variants
    hidden = name not in EXTENSIBLE
    names = ", ".join(configs) + (f"; by name only: {', '.join(variants)}" if variants else "")

    def command(
        config: Annotated[
            Texts,
            typer.Option(
                callback=one_of("--config", (*configs, *variants)),
                help=f"Comma-separated configurations (default: all): {names}.",
            ),
        ] = None,
        labels: Annotated[Path | None, typer.Option(help=LABELS, hidden=hidden)] = None,
        templates: Annotated[Path | None, typer.Option(help=TEMPLATES, hidden=hidden)] = None,
        mirror: Mirror = None,
        output: Output = None,
    ) -> None:
        from polyprobe.builder import build

        added = build.files.read_addition(labels, templates)
        selection = split_list(config) or [build.load_recipe(name).DEFAULT_CONFIG] * bool(added)
        folder = build.build_dataset(name, selection, mirror, output)
        for base in selection:
            if added:
                build.extend_dataset(name, base, added, output)
        say(f"Wrote {name} to {folder}.")

    line = f"Example: polyprobe build {name} --config {configs[0]}"
    app.command(name, help=f"Build {RECIPES[name].title}.", epilog=line)(command)


for name in RECIPES:
    add_recipe(name)


@app.command(epilog="Example: polyprobe build balanced --source mpararel --languages en,de,pl,fi")
@take_options(BalancedRequest)
def balanced(
    source: Annotated[
        str,
        typer.Option(
            help=f"Source of the facts: {', '.join(FACT_SOURCES)}. Of several, comma-separated, "
            "labels and templates are the first one's that has them."
        ),
    ],
    labels: Annotated[Texts, typer.Option(help=f"Sources of further labels, or {LABELS}")] = None,
    templates: Annotated[Texts, typer.Option(help=f"{MOST}, or {TEMPLATES}")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show what languages cost.")] = False,
    mirror: Mirror = None,
    output: Output = None,
    **options: Any,
) -> None:
    """Build the largest multi-parallel set of a source for some languages."""
    request, added = make_request(source, labels, templates, options)
    request.check_names(plan)
    from polyprobe.builder import build

    if plan:
        show_costs(build.plan_balanced(request, mirror))
        return
    folder, notes = build.build_balanced(request, mirror, output, partial(show_costs, limit=5))
    show_notes(notes)
    if added:
        build.extend_dataset(BALANCED, notes.config, added, output)
    places = [f" --mirror {mirror}" if mirror else "", f" --output {output}" if output else ""]
    say(f"Wrote {BALANCED}/{notes.config} to {folder}.")
    say(f"To build it again: {notes.command}{''.join(places)}")


def make_request(
    source: str, labels: Texts, templates: Texts, options: dict[str, Any]
) -> tuple[BalancedRequest, "Addition | None"]:
    """Return the request for a balanced set, and a contributor's language among the options."""
    names, counts = split_list(labels), split_list(templates)
    files = [next((Path(x) for x in part if Path(x).suffix), None) for part in (names, counts)]
    options["labels"] = [x for x in names if not Path(x).suffix]
    number = next((x for x in counts if not Path(x).suffix), "1")
    options["templates"] = int(number) if number.isdecimal() else number
    request, added = BalancedRequest(source, **options), None
    if any(files):
        from polyprobe.builder import build

        added = build.files.read_addition(*files)
    if added:  # its labels are the contributor's, not those of a source
        languages = tuple(x for x in request.languages if x != added.language)
        request = replace(request, languages=languages)
    if request.unimorph:  # its command is published: the folder is not relative to this one
        request = replace(request, unimorph=request.unimorph.absolute())
    return request, added


@app.command(epilog="Example: polyprobe build own facts.csv --templates templates.toml")
@take_options(OwnRequest)
def own(
    facts: Annotated[
        Path,
        typer.Argument(
            help="CSV or TSV with one row for each fact: relation, subject_en, object_en, "
            "subject_fr, object_fr, …; optionally subject_id, object_id."
        ),
    ],
    templates: Annotated[
        Path,
        typer.Option(
            help="TOML with a table for each relation, which holds a template for each language: "
            'en = "The capital of \\[X] is \\[Y]."'
        ),
    ],
    licence: Annotated[
        str,
        typer.Option("--licence", "--license", help="Licence of the data, such as cc-by-4.0."),
    ] = "unknown",
    output: Output = None,
    **options: Any,
) -> None:
    """Build a dataset from your own facts and templates."""
    request = OwnRequest(facts, templates, licence=licence, **options)
    from polyprobe.builder import build

    folder, notes = build.build_own(request, output)
    show_notes(notes)
    from polyprobe.analysis.figures.results import explain_donors
    from polyprobe.eval.donors import deal_donors
    from polyprobe.schema.load import read_splits

    rows = deal_donors(next(iter(read_splits(str(folder)).values()))).rows
    if None in rows:
        say(explain_donors(rows.count(None), len(rows)))
    say(f"Wrote {notes.rows:,} rows in {notes.costs['asked'].sum()} languages to {folder}.")


def add_sourced(name: str) -> None:
    """Add the subcommand of a dataset that is made of a folder of its authors."""
    texts = SOURCED[name]

    def command(
        source: Annotated[str, typer.Argument(help=texts["source"])],
        languages: Annotated[Texts, typer.Option(help="Language codes (default: all).")] = None,
        mirror: Mirror = None,
        output: Output = None,
    ) -> None:
        from polyprobe.builder import build

        folder = build.build_sourced(name, source, split_list(languages), mirror, output)
        say(f"Wrote {folder}.")

    line = f"Example: polyprobe build {name} {texts['example']}"
    app.command(name, help=texts["help"], epilog=line)(command)


for name in SOURCED:
    add_sourced(name)


@app.command(
    epilog="Example: polyprobe build sentences geofacts --languages es,ca --translator apertium",
)
@take_options(SentenceRequest)
def sentences(
    dataset: Annotated[str, typer.Argument(help=f"{', '.join((*RECIPES, *REQUESTED))}.")],
    translator_option: Annotated[Texts, typer.Option(help="Its key=value; repeatable.")] = None,
    mirror: Mirror = None,
    output: Output = None,
    **options: Any,
) -> None:
    """Build the sentence version of a configuration: translated sentences instead of templates.

    The translator apertium is a local service. On Debian, install it with:
    apt-get install apertium-apy apertium-eng-spa apertium-eng-cat
    """
    options["source_language"] = options["source_language"].replace("_", "-")
    check_option("--translator", options["translator"], TRANSLATORS)
    SentenceRequest(dataset, **options)  # refuses mistakes before slow imports
    pairs = read_pairs(translator_option or (), "--translator-option")
    from polyprobe.builder import build
    from polyprobe.builder.output.folder import SENTENCE_HEAD

    folder, notes = build.build_sentences(
        dataset, translator_options=pairs, mirror=mirror, output=output, **options
    )
    settings = notes.settings
    say(draw_table(SENTENCE_HEAD, notes.costs))
    if notes.lost.height:
        say(draw_table(LOST, notes.lost))
    names = ", ".join(f"{lang}: {name}" for lang, name in settings.lemmatizers.items())
    say(f"translator: {settings.translator}; lemmatizer: {names}")
    name = notes.settings.twin_of + "-sentence"
    say(f"Wrote {dataset}/{name} to {folder}.")
    say(f"Outcome of every row: {folder / 'sentences' / name}.parquet")


@app.command(epilog="Example: polyprobe build sheet bmlama --language eu --output eu.csv")
def sheet(
    dataset: Annotated[str, typer.Argument(help=f"{', '.join(EXTENSIBLE)}, or a built folder.")],
    language: Annotated[str, typer.Option(help="Code of the new language, such as eu.")],
    output: Annotated[Path, typer.Option(help="CSV file of the labels; the TOML file is beside.")],
    config: Annotated[str | None, typer.Option(help="Configuration (default: its own).")] = None,
    mirror: Mirror = None,
) -> None:
    """Write the files of a new language to fill in, or show how much is filled in.

    What is in the files stays. Then: polyprobe build DATASET --labels eu.csv --templates eu.toml
    """
    from polyprobe.builder.language import build_sheet

    say(build_sheet(dataset, language, output, config, mirror))


def show_costs(costs: "pl.DataFrame", limit: int | None = None) -> None:
    """Print the cost of each chosen language, then of the `limit` cheapest others, or all."""
    steps, rest = (costs.filter(asked=is_step).drop("asked") for is_step in (True, False))
    if steps.height:
        say(draw_table(HEAD, steps))
        Console().print(MEANING)  # lines are wrapped
    cheapest = rest if limit is None else rest.head(limit)
    if cheapest.height:
        say(draw_table(OTHERS, cheapest))
    if more := rest.height - cheapest.height:
        say(f"and {more} more: --plan shows all")


def show_notes(notes: "Notes") -> None:
    """Print how many of the source's facts became rows, and why the others were excluded."""
    from polyprobe.builder.recipes.balanced import IN_TOTAL

    excluded = "; excluded:" if notes.left_out.height else ""
    say(f"{notes.facts:,} of {notes.source_facts:,} facts{excluded}")
    if notes.left_out.height:
        rows = notes.left_out.with_columns(notes.left_out["detail"].replace("", IN_TOTAL))
        say(draw_table(("reason", "where", "facts"), rows))
        say(f"{IN_TOTAL}: each fact counts once; its labels may be missing in several languages")
    if notes.published.height:
        say("the published facts of BMLAMA, and the first reason for which the set lacks one:")
        say(draw_table((*notes.published.columns,), notes.published))
    for source, count in notes.borrowed.items():
        say(f"{count:,} labels of {source}, in all languages")
    borrowed = [source.source for source in notes.sources if source.role == "templates"]
    if borrowed:
        say(f"missing templates were taken from {borrowed[0]}")
    for reason, count in notes.repairs.items():
        say(f"in the source: {count:,} {reason}")
    if notes.used_templates.height:  # several were requested
        relations = Counter(notes.used_templates["templates"].to_list())
        parts = [f"{count} ({n})" for count, n in sorted(relations.items(), reverse=True)]
        made = f"{notes.rows:,} rows of {notes.facts:,} facts"
        say(f"{made}; templates (relations): {', '.join(parts)}")


def draw_table(head: tuple[str, ...], rows: "pl.DataFrame") -> Table:
    """Draw rows as a table, with numbers aligned to the right."""
    table = Table()
    for name, kind in zip(head, rows.dtypes, strict=True):
        table.add_column(name, justify="right" if kind.is_integer() else "left")
    for row in rows.iter_rows():
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else cell for cell in row))
    return table

"""`polyprobe build`: make a dataset from its sources, one subcommand for each kind."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from polyprobe.builder.objects.lemmatizers import LEMMATIZERS
from polyprobe.builder.recipes import BALANCED, OWN, RECIPES, REQUESTED
from polyprobe.builder.recipes.balanced import AGREEMENTS, DRAWS, WORDINGS
from polyprobe.builder.sources import FACT_SOURCES
from polyprobe.builder.translators import TRANSLATORS

from .options import example, one_of, parse_languages, say, split_list

if TYPE_CHECKING:  # polars is an extra
    import polars as pl

    from polyprobe.builder.recipes.balanced.build import Notes
    from polyprobe.builder.recipes.sentences.build import SentenceNotes

app = typer.Typer(
    help="Make a dataset from its sources: Parquet files and a card.", no_args_is_help=True
)

Texts = list[str] | None
Mirror = Annotated[
    Path | None, typer.Option(help="Folder with the upstream archives (default: download them).")
]
SentenceOption = partial(typer.Option, rich_help_panel="Sentences of the source")
TemplateOption = partial(typer.Option, rich_help_panel="Translated templates")
Output = Annotated[Path | None, typer.Option(help="Output folder (default: datasets/NAME).")]

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
    names = ", ".join(configs) + (f"; by name only: {', '.join(variants)}" if variants else "")

    def build(
        config: Annotated[
            Texts,
            typer.Option(
                callback=one_of((*configs, *variants)),
                help=f"Comma-separated configurations (default: all): {names}.",
            ),
        ] = None,
        mirror: Mirror = None,
        output: Output = None,
    ) -> None:
        from polyprobe.builder.build import build_dataset

        folder = build_dataset(name, split_list(config), mirror, output)
        typer.echo(f"Wrote {name} to {folder}.")

    line = example(f"polyprobe build {name} --config {RECIPES[name].configs[0]}")
    app.command(name, help=f"Build {RECIPES[name].title}.", epilog=line)(build)


for name in RECIPES:
    add_recipe(name)


@app.command(
    BALANCED, epilog=example("polyprobe build balanced --source mpararel --languages en,de,pl,fi")
)
def build_balanced(
    source: Annotated[
        str,
        typer.Option(
            callback=one_of(FACT_SOURCES), help=f"Source of the facts: {', '.join(FACT_SOURCES)}."
        ),
    ],
    languages: Annotated[Texts, typer.Option(help="Comma-separated language codes.")] = None,
    config: Annotated[
        str,
        typer.Option(
            help="Name of the configuration to write, for load_dataset and --config of eval "
            "(default: SOURCE-N for N languages)."
        ),
    ] = "",
    candidates: Annotated[
        int, typer.Option(help="Number of candidates per query, including the answer.")
    ] = 10,
    templates: Annotated[
        int, typer.Option(help="Maximum templates per relation; each adds a row per fact.")
    ] = 1,
    max_per_relation: Annotated[
        int | None, typer.Option(help="Maximum facts per relation (default: all).")
    ] = None,
    relations: Annotated[
        Texts, typer.Option(help="Comma-separated relations (default: all).")
    ] = None,
    exclude: Annotated[Texts, typer.Option(help="Comma-separated relations to exclude.")] = None,
    labels: Annotated[
        Texts,
        typer.Option(
            callback=one_of(FACT_SOURCES),
            help="Other sources, comma-separated, that give labels which --source lacks, in order.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the sampling.")] = 0,
    wording: Annotated[
        str | None,
        SentenceOption(
            callback=one_of(WORDINGS),
            help="template or sentence, for two sets to compare: both have the same facts, once "
            "in templates, once in the source's sentences with inflected names (default: one set, "
            "with sentences where every language has them).",
        ),
    ] = None,
    unimorph: Annotated[
        Path | None,
        SentenceOption(
            help="Folder with UniMorph's tables of inflected words (a file for each language, "
            "such as rus); with them xfactr's names get their cases."
        ),
    ] = None,
    template_translator: Annotated[
        Texts,
        TemplateOption(
            help="Translator of missing templates: NAME, or 'NAME key=value …'. Repeat it: a "
            "translation is kept if two agree."
        ),
    ] = None,
    trusted: Annotated[
        Texts,
        TemplateOption(
            help="The text of a --template-translator whose translations a reader has checked: "
            "they are kept without a second one that agrees."
        ),
    ] = None,
    agree: Annotated[
        str,
        TemplateOption(
            callback=one_of(AGREEMENTS),
            help="Two translators agree if they give a wording for the same template, or for any "
            "template of the relation (as mParaRel).",
        ),
    ] = "template",
    draw: Annotated[
        str,
        typer.Option(
            callback=one_of(DRAWS),
            help="Draw objects as distractors by their frequency as answers, or uniform: each "
            "object alike, which lets frequent answers be guessed.",
        ),
    ] = "frequency",
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what each language costs; build nothing.")
    ] = False,
    mirror: Mirror = None,
    output: Output = None,
) -> None:
    """Build the largest multi-parallel set of a source for some languages."""
    from polyprobe.builder.recipes.balanced.request import (
        BalancedRequest,
        check_build,
        check_request,
    )

    request = BalancedRequest(
        source,
        parse_languages(languages),
        candidates,
        max_per_relation,
        split_list(relations),
        split_list(exclude),
        split_list(labels),
        seed,
        config,
        templates,
        wording or "",
        str(unimorph.absolute()) if unimorph else "",
        tuple(template_translator or ()),
        tuple(trusted or ()),
        draw,
        agree,
    )
    (check_request if plan else check_build)(request)
    from polyprobe.builder import build

    if plan:
        show_costs(build.plan_balanced(request, mirror))
        return
    folder, notes = build.build_balanced(
        request, mirror, output, lambda costs: show_costs(costs, others=5)
    )
    show_notes(notes)
    places = [f" --mirror {mirror}" if mirror else "", f" --output {output}" if output else ""]
    typer.echo(f"Wrote {BALANCED}/{notes.config} to {folder}.")
    typer.echo(f"To build it again: {notes.command}{''.join(places)}")


@app.command(OWN, epilog=example("polyprobe build own facts.csv --templates templates.toml"))
def build_own(
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
    languages: Annotated[
        Texts, typer.Option(help="Comma-separated language codes (default: all of the facts).")
    ] = None,
    candidates: Annotated[
        int, typer.Option(min=2, help="Number of candidates per query, including the answer.")
    ] = 10,
    seed: Annotated[int, typer.Option(help="Random seed of the sampling.")] = 0,
    licence: Annotated[
        str,
        typer.Option(
            "--licence",
            "--license",
            help="Licence of your data on the Hub, such as cc-by-4.0; for push.",
        ),
    ] = "unknown",
    output: Output = None,
) -> None:
    """Build a dataset from your own facts and templates."""
    from polyprobe.builder import build
    from polyprobe.system.extras import explain_missing_extras

    with explain_missing_extras("building"):
        from polyprobe.builder.recipes.own.build import OwnRequest
    chosen = parse_languages(languages)
    request = OwnRequest(facts, templates, chosen, candidates, seed, licence)
    folder, notes = build.build_own(request, output)
    show_notes(notes)
    typer.echo(f"Wrote {notes.rows:,} rows in {notes.costs['asked'].sum()} languages to {folder}.")


@app.command(
    "sentences",
    epilog=example("polyprobe build sentences geofacts --languages es,ca --translator apertium"),
)
def build_sentences(
    dataset: Annotated[str, typer.Argument(help=f"{', '.join((*RECIPES, *REQUESTED))}.")],
    config: Annotated[
        str, typer.Option(help="Configuration with the templates; C gives C-sentence.")
    ] = "default",
    translator: Annotated[
        str, typer.Option(callback=one_of(TRANSLATORS), help=f"{', '.join(TRANSLATORS)}.")
    ] = "googletrans",
    translator_option: Annotated[
        Texts, typer.Option(help="key=value of the translator; may be repeated.")
    ] = None,
    languages: Annotated[
        Texts, typer.Option(help="Comma-separated language codes (default: all).")
    ] = None,
    source_language: Annotated[str, typer.Option(help="Language to translate from.")] = "en",
    lemmatizer: Annotated[
        str,
        typer.Option(
            callback=one_of(LEMMATIZERS),
            help=f"Lemmatizer that finds the object: {', '.join(LEMMATIZERS)} (auto: stanza if its "
            "models are present, else simplemma).",
        ),
    ] = "auto",
    stanza: Annotated[Path | None, typer.Option(help="Folder with the models of Stanza.")] = None,
    threshold: Annotated[
        float,
        typer.Option(
            min=0,
            max=100,
            help="How alike words of the translation and a form of the label must be to be taken "
            "for the object: 100 is equal, 75 allows about one other letter in four.",
        ),
    ] = 75,
    mirror: Mirror = None,
    output: Output = None,
) -> None:
    """Build the sentence version of a configuration: translated sentences instead of templates.

    The translator apertium is a local service. On Debian, install it with:
    apt-get install apertium-apy apertium-eng-spa apertium-eng-cat
    """
    from polyprobe.builder import build
    from polyprobe.builder.translators import read_pairs

    folder, notes = build.build_sentences(
        dataset,
        config,
        translator,
        languages=parse_languages(languages),
        lemmatizer=lemmatizer,
        stanza_dir=stanza,
        threshold=threshold,
        source_language=source_language.replace("_", "-"),
        translator_options=read_pairs(translator_option or (), "--translator-option"),
        mirror=mirror,
        output=output,
    )
    show_sentences(notes)
    name = notes.settings.twin_of + "-sentence"
    typer.echo(f"Wrote {dataset}/{name} to {folder}.")
    typer.echo(f"Outcome of every row: {folder / 'sentences' / name}.parquet")


def show_costs(costs: "pl.DataFrame", others: int | None = None) -> None:
    """Print the cost of each chosen language (`material.COSTS`), then of the other languages.

    `others` limits the other languages to the cheapest; None shows all.
    """
    for asked, head in ((True, HEAD), (False, OTHERS)):
        part = costs.filter(asked=asked).drop("asked")
        shown = part if asked or others is None else part.head(others)
        if shown.height:
            Console().print(draw_table(head, shown))
            if asked:
                Console().print(MEANING, highlight=False)
        if left := part.height - shown.height:
            Console().print(f"and {left} more: --plan shows all", highlight=False)


def show_notes(notes: "Notes") -> None:
    """Print how many of the source's facts became rows, and why the others were excluded.

    If several templates were requested, print how many relations have how many.
    """
    from polyprobe.builder.recipes.balanced.build import IN_TOTAL

    excluded = "; excluded:" if notes.left_out.height else ""
    say(f"{notes.facts:,} of {notes.source_facts:,} facts{excluded}")
    if notes.left_out.height:
        places = notes.left_out["detail"].replace("", IN_TOTAL)
        Console().print(
            draw_table(("reason", "where", "facts"), notes.left_out.with_columns(places))
        )
        say(f"{IN_TOTAL}: each fact counts once; its labels may be missing in several languages")
    for source, count in notes.borrowed.items():
        Console().print(f"{count:,} labels of {source}, in all languages", highlight=False)
    borrowed = [source.source for source in notes.sources if source.role == "templates"]
    if borrowed:
        Console().print(f"missing templates were taken from {borrowed[0]}", highlight=False)
    for reason, count in notes.repairs.items():
        Console().print(f"in the source: {count:,} {reason}", highlight=False, markup=False)
    if notes.used_templates.height:
        relations = Counter(notes.used_templates["templates"].to_list())
        parts = [f"{count} ({n})" for count, n in sorted(relations.items(), reverse=True)]
        rows = f"{notes.rows:,} rows of {notes.facts:,} facts"
        say(f"{rows}; templates (relations): {', '.join(parts)}")


def show_sentences(notes: "SentenceNotes") -> None:
    """Print what each language costs, why rows were excluded, and the tools that were used."""
    from polyprobe.builder.output.card import SENTENCE_HEAD

    console = Console()
    console.print(draw_table(SENTENCE_HEAD, notes.costs))
    if notes.lost.height:
        console.print(draw_table(LOST, notes.lost))
    used = ", ".join(f"{lang}: {name}" for lang, name in notes.settings.lemmatizers.items())
    say(f"translator: {notes.settings.translator}; lemmatizer: {used}")


def draw_table(head: tuple[str, ...], rows: "pl.DataFrame") -> Table:
    """Return rows as a table, with numbers aligned to the right."""
    table = Table()
    for name, kind in zip(head, rows.dtypes, strict=True):
        table.add_column(name, justify="right" if kind.is_integer() else "left")
    for row in rows.iter_rows():
        table.add_row(*(f"{cell:,}" if isinstance(cell, int) else cell for cell in row))
    return table

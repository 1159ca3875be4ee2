"""`polyprobe build`: make a dataset from its sources, one subcommand for each kind."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.builder.objects.lemmatizers import LEMMATIZERS
from polyprobe.builder.recipes import BALANCED, RECIPES
from polyprobe.builder.sources import FACT_SOURCES
from polyprobe.builder.translators import TRANSLATORS

from .options import parse_languages, split_list
from .show import show_costs, show_left_out, show_sentences, show_templates

app = typer.Typer(
    help="Make a dataset from its sources: Parquet files and a card.", no_args_is_help=True
)

Texts = list[str] | None
Mirror = Annotated[
    Path | None, typer.Option(help="Folder with the upstream archives (default: download them).")
]
Output = Annotated[Path | None, typer.Option(help="Output folder (default: datasets/NAME).")]


def add_recipe(name: str) -> None:
    """Add the subcommand of a published dataset."""
    configs = RECIPES[name].configs

    def build(
        config: Annotated[
            Texts,
            typer.Option(
                help=f"Comma-separated configurations (default: all): {', '.join(configs)}."
            ),
        ] = None,
        mirror: Mirror = None,
        output: Output = None,
    ) -> None:
        from polyprobe.builder.build import build_dataset

        folder = build_dataset(name, split_list(config), mirror, output)
        typer.echo(f"Wrote {name} to {folder}.")

    app.command(name, help=f"Build {RECIPES[name].title}.")(build)


for name in RECIPES:
    add_recipe(name)


@app.command(BALANCED)
def build_balanced(
    source: Annotated[str, typer.Option(help=f"Source of the facts: {', '.join(FACT_SOURCES)}.")],
    languages: Annotated[Texts, typer.Option(help="Comma-separated language codes.")] = None,
    config: Annotated[
        str, typer.Option(help="Name of the configuration (default: SOURCE-N for N languages).")
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
    labels: Annotated[Texts, typer.Option(help="Sources of missing labels, in order.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the sampling.")] = 0,
    wording: Annotated[
        str,
        typer.Option(
            help="template or sentence: restrict the set to facts available in both forms, so that "
            "the two builds are parallel (default: sentences where every language has them)."
        ),
    ] = "",
    unimorph: Annotated[
        Path | None,
        typer.Option(help="Folder with UniMorph tables, to inflect the sentences of xfactr."),
    ] = None,
    template_translator: Annotated[
        Texts,
        typer.Option(
            help="Translator of missing templates: NAME, or 'NAME key=value …'. Repeat it: a "
            "translation is kept if two agree."
        ),
    ] = None,
    trusted: Annotated[
        Texts, typer.Option(help="A --template-translator that needs no second one to agree.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what each language costs; build nothing.")
    ] = False,
    mirror: Mirror = None,
    output: Output = None,
) -> None:
    """Build the largest multi-parallel set of a source for some languages."""
    from polyprobe.builder import build
    from polyprobe.builder.recipes.balanced.request import Request

    request = Request(
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
        wording,
        str(unimorph.absolute()) if unimorph else "",
        tuple(template_translator or ()),
        tuple(trusted or ()),
    )
    if plan:
        show_costs(build.plan_balanced(request, mirror))
        return
    folder, notes = build.build_balanced(
        request, mirror, output, lambda costs: show_costs(costs, others=5)
    )
    show_left_out(notes)
    show_templates(notes)
    places = [f" --mirror {mirror}" if mirror else "", f" --output {output}" if output else ""]
    typer.echo(f"Wrote {BALANCED}/{notes.config} to {folder}.")
    typer.echo(f"To build it again: {notes.command}{''.join(places)}")


@app.command("sentences")
def build_sentences(
    dataset: Annotated[str, typer.Argument(help=f"{', '.join((*RECIPES, BALANCED))}.")],
    config: Annotated[
        str, typer.Option(help="Configuration with the templates; C gives C-sentence.")
    ] = "default",
    translator: Annotated[str, typer.Option(help=f"{', '.join(TRANSLATORS)}.")] = "googletrans",
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
            help=f"Lemmatizer that finds the object: {', '.join(LEMMATIZERS)} (auto: stanza if its "
            "models are present, else simplemma)."
        ),
    ] = "auto",
    stanza: Annotated[Path | None, typer.Option(help="Folder with the models of Stanza.")] = None,
    threshold: Annotated[
        float, typer.Option(help="Minimum similarity of object and label, 0-100.")
    ] = 75,
    mirror: Mirror = None,
    output: Output = None,
) -> None:
    """Build the sentence version of a configuration: translated sentences instead of templates."""
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

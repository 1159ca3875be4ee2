"""`polyprobe build`: a dataset from its sources."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyprobe.cli.show.costs import show_costs, show_costs_in_short, show_left_out
from polyprobe.cli.show.sentences import SentenceOptions, build_twin, find_twin
from polyprobe.system.errors import PolyprobeError

if TYPE_CHECKING:  # polars is an extra
    from polyprobe.builder.recipes.balanced.build import Notes

SET = "balanced only"  # the heading of its options in the help
TWIN = "sentences instead of templates: --config C-sentence"


def build(
    name: Annotated[
        str, typer.Argument(help="The dataset: bmlama, fluent-mlama, geofacts or balanced.")
    ],
    further: Annotated[
        list[str] | None,
        typer.Argument(help="More configurations, after --config C.", show_default=False),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            help="Configurations to build, as 17,53; all without it. bmlama: 17, 53, 17-repaired, "
            "53-repaired. fluent-mlama: cs, da, es, hr, id, ru, uk, vi, zh, each also with "
            "-sentence; cs-chatgpt, hr-chatgpt, ru-chatgpt, uk-chatgpt. Of balanced it names the "
            "new set."
        ),
    ] = None,
    mirror: Annotated[
        Path | None,
        typer.Option(help="Folder with the upstream archives, instead of the network."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder to write to; default: datasets/NAME."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="Where the facts come from: mpararel, xfactr, mlama, mlama-hub, polyglot, "
            "fluent-mlama, bmlama.",
            rich_help_panel=SET,
        ),
    ] = None,
    languages: Annotated[
        list[str] | None,
        typer.Option(help="Of balanced sets and of sentences, as en,fr,zh; may be repeated."),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(help="Of a query, the answer included; 10.", rich_help_panel=SET),
    ] = None,
    templates: Annotated[
        int | None,
        typer.Option(
            help="Of a relation, at most; a fact gets a row for each of them; 1.",
            rich_help_panel=SET,
        ),
    ] = None,
    max_per_relation: Annotated[
        int | None,
        typer.Option(help="At most so many facts of a relation.", rich_help_panel=SET),
    ] = None,
    relations: Annotated[
        list[str] | None, typer.Option(help="As P36,P37; all by default.", rich_help_panel=SET)
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Relations to leave out, as P530,P190,P47.", rich_help_panel=SET),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(help="Sources that complete missing labels, in order.", rich_help_panel=SET),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the draw; 0.", rich_help_panel=SET),
    ] = None,
    wording: Annotated[
        str | None,
        typer.Option(
            help="template or sentence: one of twins, of the facts that the source has both "
            "templates and sentences for. Without it: sentences where all languages have one.",
            rich_help_panel=SET,
        ),
    ] = None,
    unimorph: Annotated[
        Path | None,
        typer.Option(
            help="UniMorph's tables, for xfactr's sentences; pymorphy3 for ru without.",
            rich_help_panel=SET,
        ),
    ] = None,
    template_translator: Annotated[
        list[str] | None,
        typer.Option(
            help="Translates templates that a language lacks, kept where two agree: NAME, or "
            "'NAME key=value …'; may be repeated.",
            rich_help_panel=SET,
        ),
    ] = None,
    trusted: Annotated[
        list[str] | None,
        typer.Option(
            help="One of --template-translator that needs no second; may be repeated.",
            rich_help_panel=SET,
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Show what languages cost; build nothing.", rich_help_panel=SET
        ),
    ] = False,
    translator: Annotated[
        str | None,
        typer.Option(
            help="googletrans (default), apertium, openai or transformers.", rich_help_panel=TWIN
        ),
    ] = None,
    translator_option: Annotated[
        list[str] | None,
        typer.Option(help="key=value of the translator; may be repeated.", rich_help_panel=TWIN),
    ] = None,
    lemmatizer: Annotated[
        str | None,
        typer.Option(
            help="To find the object: auto (Stanza where its models lie, else simplemma), stanza, "
            "simplemma, none; auto.",
            rich_help_panel=TWIN,
        ),
    ] = None,
    stanza: Annotated[
        Path | None, typer.Option(help="Folder with Stanza's models.", rich_help_panel=TWIN)
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Least likeness of object and label, 0-100; 75.", rich_help_panel=TWIN),
    ] = None,
    source_language: Annotated[
        str | None,
        typer.Option(help="The language that is translated; en.", rich_help_panel=TWIN),
    ] = None,
) -> None:
    """Make a dataset from its sources: Parquet files and a card."""
    from polyprobe.builder.build import build_dataset
    from polyprobe.builder.recipes.table import BALANCED

    own = {
        "source": source,
        "languages": tuple(part.replace("_", "-") for part in split_list(languages)),
        "candidates": candidates,
        "templates": templates,
        "max_per_relation": max_per_relation,
        "relations": split_list(relations),
        "exclude": split_list(exclude),
        "labels": split_list(labels),
        "seed": seed,
        "wording": wording,
        "unimorph": str(unimorph.absolute()) if unimorph else None,
        "template_translators": tuple(template_translator or ()),
        "trusted": tuple(trusted or ()),
    }
    configs = split_list([*(config or ()), *(further or ())])
    if further and not config:
        raise PolyprobeError(f"what is {further[0]!r}? configurations follow --config")
    given = {option: value for option, value in own.items() if value not in (None, ())}
    sentences = SentenceOptions(
        translator,
        translator_option,
        lemmatizer,
        stanza,
        threshold,
        source_language and source_language.replace("_", "-"),
    )
    if not wording and (twin := find_twin(name, configs, sentences)):
        chosen = given.pop("languages", ())
        refuse(given, plan, f"balanced sets, not of {twin}")
        build_twin(name, twin, chosen, sentences, mirror, output)  # type: ignore[arg-type]
        return
    if name == BALANCED:
        build_set(given, configs, mirror, output, plan)
        return
    refuse(given, plan, f"{BALANCED}, not of {name}")
    folder = build_dataset(name, configs, mirror, output)
    typer.echo(f"{name} lies in {folder}")


def refuse(given: Mapping[str, object], plan: bool, whose: str) -> None:
    """Raise PolyprobeError for an option of balanced sets that was given elsewhere."""
    if given or plan:
        option = next(iter(given), "plan").replace("_", "-")
        raise PolyprobeError(f"--{option} is an option of {whose}")


def build_set(
    given: Mapping[str, object],
    configs: Sequence[str],
    mirror: Path | None,
    output: Path | None,
    plan: bool,
) -> None:
    """Build a balanced set, or show what its languages cost; `given` are fields of Request."""
    from polyprobe.builder.build import build_balanced
    from polyprobe.builder.output.folder import check_mirror
    from polyprobe.system.extras import explain_missing_extras

    if "source" not in given:
        raise PolyprobeError("balanced needs --source, as --source mpararel")
    if len(configs) > 1:
        raise PolyprobeError(f"balanced builds one configuration, --config names {len(configs)}")
    with explain_missing_extras():
        from polyprobe.builder.recipes.balanced.build import plan as find_costs
        from polyprobe.builder.recipes.balanced.request import Request

        request = Request(**given, config=configs[0] if configs else "")  # type: ignore[arg-type]
        if plan:
            check_mirror(mirror)
            show_costs(find_costs(request, mirror))
            return
        folder, notes = build_balanced(request, mirror, output, show_costs_in_short)
    show_left_out(notes)
    if notes.told.height:
        typer.echo(tell_templates(notes))
    places = [f" --mirror {mirror}" if mirror else "", f" --output {output}" if output else ""]
    typer.echo(f"balanced/{notes.config} lies in {folder}; again: {notes.command}{''.join(places)}")


def tell_templates(notes: "Notes") -> str:
    """Return in how many templates the facts were told, where several were asked for."""
    relations = Counter(notes.told["templates"].to_list())
    parts = [f"{count} ({n})" for count, n in sorted(relations.items(), reverse=True)]
    return (
        f"{notes.rows:,} rows of {notes.facts:,} facts; templates (relations): {', '.join(parts)}"
    )


def split_list(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return the items of comma-separated lists, each once.

    >>> split_list(["en, fr", "zh-hans,en"])
    ('en', 'fr', 'zh-hans')
    """
    parts = [part.strip() for text in texts or () for part in text.split(",")]
    return tuple(dict.fromkeys(filter(None, parts)))

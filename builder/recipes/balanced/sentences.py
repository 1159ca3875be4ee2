"""Sentences for facts, rendered from the annotated prompts of X-FACTR, with `[Y]`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from polyprobe.builder.annotated.entities import Traits, read_traits
from polyprobe.builder.annotated.grammar import Prompt, parse_prompt
from polyprobe.builder.annotated.inflection import find_table
from polyprobe.builder.annotated.languages import load_inflector
from polyprobe.builder.annotated.render import UNKNOWN, Renderer
from polyprobe.builder.facts import FACTS, PROMPTS, Facts
from polyprobe.builder.sources import xfactr
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.download import read_files
from polyprobe.system.files import read_table_rows
from polyprobe.system.messages import PolyprobeError, track

UNLABELLED = "facts without a sentence: no label in the language"

# {(language, relation): (mark in the file, correct mark)}: marks that are wrong for any label.
FIXED_MARKS = {
    (x["language"], x["relation"]): (x["released"], x["correct"])
    for x in read_table_rows(__package__, "marks.csv")
}


def render_sentences(
    content: Facts, mirror: Path | None, languages: Sequence[str], unimorph: Path | None = None
) -> Facts:
    """Return the facts with a sentence of each in each language with labels of both its ends."""
    # `unimorph` is a folder with UniMorph's tables. Marks that could not be applied, and facts
    # without a label, are counted among the repairs, as `LANGUAGE: description`.
    refuse_languages(languages, "xfactr's prompts", xfactr.LANGUAGES)
    if unimorph and not any(find_table(unimorph, language) for language in languages):
        raise PolyprobeError(
            f"{unimorph} has no UniMorph table of {', '.join(languages)}; expected files as rus or "
            "rus/rus"
        )
    repairs = dict(content.repairs)
    prompts = read_prompts(mirror, languages)
    traits = read_traits(xfactr.REPOSITORY, mirror)
    rows: set[tuple[str, ...]] = set()
    for language in track(sorted(set(languages)), "writing xfactr's sentences"):
        ends = content.labels.filter(language=language)
        subjects = ends.select(subject_id="id", subject="label")
        objects = ends.select(object_id="id", object="label")
        facts = content.facts.select(*FACTS).join(subjects, on="subject_id")
        facts = facts.join(objects, on="object_id")
        lost = Counter({UNLABELLED: content.facts.height - facts.height})
        renderer = Renderer(language, load_inflector(language, unimorph))
        made = render_rows(facts, prompts[language], traits, renderer, lost)
        rows.update((language, *row) for row in made)
        repairs |= {f"{language}: {reason}": count for reason, count in lost.items()}
    rendered = pl.DataFrame(sorted(rows), PROMPTS, orient="row")
    return content._replace(prompts=rendered, repairs=repairs)


def read_prompts(mirror: Path | None, languages: Sequence[str]) -> dict[str, dict[str, Prompt]]:
    """Return the prompts as {language: {relation: tree}}, repaired."""
    [content] = read_files(xfactr.REPOSITORY, [xfactr.PROMPT_FILE], mirror)
    prompts: dict[str, dict[str, Prompt]] = {language: {} for language in languages}
    for language, relation, _, prompt in xfactr.list_prompts(content, languages):
        text = prompt.replace(*FIXED_MARKS.get((language, relation), ("", "")), 1)
        prompts[language][relation] = parse_prompt(text, language, relation)
    return prompts


def render_rows(
    facts: pl.DataFrame,
    prompts: Mapping[str, Prompt],
    traits: Mapping[str, Traits],
    renderer: Renderer,
    lost: Counter[str],
) -> Iterator[tuple[str, ...]]:
    """Yield FACTS, `prompt` and `form` of the facts whose relation has a prompt."""
    # `facts` has FACTS, `subject` and `object`; `lost` counts the marks that could not be applied.
    for relation, subject_id, object_id, subject, object_ in facts.iter_rows():
        if relation in prompts:
            ends = (traits.get(subject_id, UNKNOWN), traits.get(object_id, UNKNOWN))
            text, form, reasons = renderer.render(prompts[relation], subject, object_, *ends)
            lost.update(reasons)
            yield relation, subject_id, object_id, text, form

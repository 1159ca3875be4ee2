"""Sentences for facts, rendered from the annotated prompts of X-FACTR, with `[Y]`."""

import csv
import io
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
from polyprobe.system.download import read_files
from polyprobe.system.errors import PolyprobeError, unknown
from polyprobe.system.progress import track

UNLABELLED = "facts without a sentence: no label in the language"

# {(language, relation): (mark in the file, correct mark)}: marks that are wrong for any label.
FIXED_MARKS = {
    ("el", "P31"): ("[Y.Acc]", "[Y.Nom]"),  # after "is"
    ("es", "P127"): ("dueña;", "dueño;"),  # after a masculine article, which no mark changes
    ("fr", "P27"): ("[ARTDEF;Y]", "[PREPDEF;Y]"),  # after "citizen"
    ("fr", "P31"): ("un [ARTIND;Y]", "[ARTIND;Y]"),  # two articles
    ("fr", "P1923"): ("participée;", "participé;"),  # no feminine after avoir
    ("fr", "P159"): ("en [PREPLOC;Y]", "[PREPLOC;Y]"),  # two prepositions
}


def render_sentences(
    content: Facts, mirror: Path | None, languages: Sequence[str], unimorph: Path | None = None
) -> Facts:
    """Return the facts with a sentence of each in each language with labels of both its ends.

    `unimorph` is a folder with UniMorph's tables. Marks that could not be applied, and facts
    without a label, are counted among the repairs, as `LANGUAGE: description`.
    """
    for language in languages:
        if language not in xfactr.LANGUAGES:
            raise unknown("language", language, "xfactr's prompts", xfactr.LANGUAGES)
    if unimorph and not any(find_table(unimorph, language) for language in languages):
        raise PolyprobeError(
            f"{unimorph} has no UniMorph table of {', '.join(languages)}; expected files as rus or "
            "rus/rus"
        )
    lost: Counter[str] = Counter()
    prompts = read_prompts(mirror, languages)
    traits = read_traits(xfactr.REPOSITORY, mirror)
    tables = [pl.DataFrame(schema=PROMPTS)]
    for language in track(sorted(set(languages)), "writing xfactr's sentences"):
        renderer = Renderer(language, load_inflector(language, unimorph))
        facts = pair_labels(content.facts, content.labels.filter(language=language))
        rows = render_rows(facts, language, prompts[language], traits, renderer, lost)
        lost[f"{language}: {UNLABELLED}"] += content.facts.height - facts.height
        tables.append(pl.DataFrame(list(rows), schema=PROMPTS, orient="row"))
    rendered = pl.concat(tables).unique().sort(pl.all())
    return content._replace(prompts=rendered, repairs={**content.repairs, **lost})


def read_prompts(mirror: Path | None, languages: Sequence[str]) -> dict[str, dict[str, Prompt]]:
    """Return the prompts as {language: {relation: tree}}, repaired."""
    [content] = read_files(xfactr.REPOSITORY, [xfactr.PROMPT_FILE], mirror)
    lines = list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))
    return {
        language: {
            line["pid"]: parse_prompt(
                fix_marks(line[language], language, line["pid"]), language, line["pid"]
            )
            for line in lines
        }
        for language in languages
    }


def fix_marks(prompt: str, language: str, relation: str) -> str:
    """Return the prompt with corrected marks."""
    mark, right = FIXED_MARKS.get((language, relation), ("", ""))
    return xfactr.fix_prompt(prompt, language, relation).replace(mark, right, 1)


def pair_labels(facts: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return the facts with both labels: FACTS, `subject` and `object`."""
    ends = labels.select("id", "label")
    subjects = ends.rename({"id": "subject_id", "label": "subject"})
    objects = ends.rename({"id": "object_id", "label": "object"})
    return facts.select(*FACTS).join(subjects, on="subject_id").join(objects, on="object_id")


def render_rows(
    facts: pl.DataFrame,
    language: str,
    prompts: Mapping[str, Prompt],
    traits: Mapping[str, Traits],
    renderer: Renderer,
    lost: Counter[str],
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of PROMPTS in a language, only for relations of X-FACTR."""
    for relation, subject_id, object_id, subject, object_ in facts.iter_rows():
        if relation in prompts:
            text, form, reasons = renderer.render(
                prompts[relation],
                subject,
                object_,
                traits.get(subject_id, UNKNOWN),
                traits.get(object_id, UNKNOWN),
            )
            lost.update(f"{language}: {reason}" for reason in reasons)
            yield language, relation, subject_id, object_id, text, form

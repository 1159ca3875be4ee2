"""Fluent-mLAMA (arXiv:2510.15115), mLAMA with whole translated sentences.

The translations are by Google and, in cs, hr, ru and uk, also by ChatGPT. A zip in the repository
contains one quoted TSV for each language and relation, with one row for each fact (`Record`).
Templates are recovered from the filled ones, in English from LAMA's sentences. ChatGPT's prompts
and objects are only used for the paper's own rows (`recipes.fluent_mlama`). The XLSX documents in
gt_doc/ are not read: they contain the translations before the object extraction. Defects:

- If the object was not found in Google's sentence, prompt and object are `ERROR` (9% of the rows;
  often the sentence has a paraphrase of the object). 40 extracted objects are empty, most of them
  in id (25) and hr (8). No prompt is made from these rows.
- The released code reads the list of aliases as one string; here it is split. It contains names in
  the language and in English, possibly including the label.
- Templates are mLAMA's. Wrong ones (`capital` as a letter in zh, as money in vi) are kept.
"""

import csv
import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import FACTS, LABELS, PROMPTS, TEMPLATES, Facts
from polyprobe.builder.facts.labels import choose_labels, normalise
from polyprobe.schema.columns import SLOT
from polyprobe.system.download import Repository, read_files, read_sums
from polyprobe.system.messages import track

from . import SOURCES

ABOUT = SOURCES["fluent_mlama"]
LICENCE, REASONS = ABOUT["licence"], ABOUT["repairs"]
REPOSITORY = Repository(**ABOUT["repository"], sha256=read_sums(__package__, "fluent_mlama.sha256"))
[ARCHIVE] = REPOSITORY.sha256
TRANSLATED = ("cs", "da", "es", "hr", "id", "ru", "uk", "vi", "zh")
LANGUAGES = tuple(sorted(("en", *TRANSLATED)))
FILE = re.compile(r"fixed_data/(?P<language>[a-z]+)_(?P<relation>P\d+)_\w+\.tsv")
SEPARATOR = "|||"
FAILED = "ERROR"


class Record(NamedTuple):
    """One row: language, relation, and the released columns with a fact, its labels, sentences."""

    language: str
    relation: str
    sub_uri: str
    obj_uri: str
    sub_label: str
    obj_label: str
    en_sub_label: str
    en_obj_label: str
    template: str  # filled with the labels
    en_template: str
    gt_translation: str  # Google's sentence
    gt_prompt: str  # the text before the object in it
    gt_infl_object: str  # the object's form in it
    aliases: str
    template_prompt: str  # the text before the object in the filled template
    chatgpt_prompt: str | None = None  # some files lack ChatGPT's
    chatgpt_infl_object: str | None = None


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return facts, labels, templates and Google's sentences in some languages."""
    # English is read from the rows of the other languages; alone, from the rows of all languages.
    selection = set(LANGUAGES if languages is None else languages)
    records = list(read_translations_of(mirror, selection - {"en"} or TRANSLATED))
    repairs: Counter[str] = Counter()
    translated = [record for record in records if record.language in selection]
    texts = ("sub_label", "obj_label", "template")
    english = (x._replace(**{y: getattr(x, f"en_{y}") for y in texts}) for x in records)
    sides = [*translated, *(x._replace(language="en") for x in english if "en" in selection)]
    names = [
        (side.language, entity, label.strip())
        for side in sides
        for entity, label in ((side.sub_uri, side.sub_label), (side.obj_uri, side.obj_label))
    ]
    facts = {(record.relation, record.sub_uri, record.obj_uri) for record in records}
    repairs[REASONS["lists"]] = sum(SEPARATOR in record.aliases for record in translated)
    prompts = set(list_prompts(translated, repairs))
    return Facts(
        facts=pl.DataFrame(sorted(facts), schema=FACTS, orient="row"),
        labels=choose_labels(pl.DataFrame(names, schema=LABELS, orient="row"), repairs),
        templates=recover_filled_templates(sides, repairs),
        prompts=pl.DataFrame(sorted(prompts), schema=PROMPTS, orient="row"),
        repairs={reason: count for reason, count in sorted(repairs.items()) if count},
    )


def read_translations_of(mirror: Path | None, languages: Collection[str]) -> Iterator[Record]:
    """Yield the released rows in some languages; texts are normalised."""
    [content] = read_files(REPOSITORY, [ARCHIVE], mirror)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in track(sorted(archive.namelist()), "reading fluent-mlama"):
            place = FILE.fullmatch(name)
            if not place or place["language"] not in languages:
                continue
            text = io.StringIO(archive.read(name).decode("utf-8"), newline="")
            for row in csv.DictReader(text, delimiter="\t", strict=True):
                texts = {x: normalise(row[x], place[1]) for x in Record._fields if x in row}
                yield Record(place["language"], place["relation"], **texts)


def recover_filled_templates(sides: Iterable[Record], repairs: Counter[str]) -> pl.DataFrame:
    """Return TEMPLATES: the most frequent result for each language and relation."""
    tallies: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for side in sides:
        if template := empty_slots(side.template, side.sub_label, side.obj_label):
            tallies[side.language, side.relation][template] += 1
        else:
            repairs[REASONS["unclear"]] += 1
    rows = []
    for (language, relation), counts in sorted(tallies.items()):
        # Labels that occur in the sentence give other results: the most frequent one is right.
        template, _ = min(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        text = template.replace(" .", ".")
        repairs[REASONS["stops"]] += text != template
        rows.append((language, relation, f"fluent-mlama:{relation}:0", text))
    return pl.DataFrame(rows, schema=TEMPLATES, orient="row")


def empty_slots(filled: str, subject: str, thing: str) -> str | None:
    """Return the template of a filled sentence, None unless each label occurs exactly once.

    >>> empty_slots("The capital of Peru is Lima.", "Peru", "Lima")
    'The capital of [X] is [Y].'
    """
    if filled.count(thing) != 1:
        return None
    opened = filled.replace(thing, SLOT)
    return opened.replace(subject, "[X]") if opened.count(subject) == 1 else None


def list_prompts(records: Iterable[Record], repairs: Counter[str]) -> Iterator[tuple[str, ...]]:
    """Yield PROMPTS: Google's sentences with the slot in place of the extracted object."""
    for r in records:
        start, form = r.gt_prompt, r.gt_infl_object
        if FAILED in (start, form):
            repairs[REASONS["errors"]] += 1
        elif not form:
            repairs[REASONS["no_form"]] += 1
        else:
            prompt = start + SLOT + r.gt_translation.removeprefix(start + form)
            repairs[REASONS["blanks"]] += prompt != prompt.strip()
            yield (r.language, r.relation, r.sub_uri, r.obj_uri, prompt.strip(), form)

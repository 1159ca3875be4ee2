"""mLAMA 1.1 (Kassner, Dufter and Schütze, EACL 2021, arXiv:2102.00894).

A zip of 53 languages: `mlama1.1/LANGUAGE/RELATION.jsonl` (TRIPLES) and `templates.jsonl`. 41
relations are T-REx's, named by Wikidata's properties. `place_of_birth` and `place_of_death` are
GoogleRE's and keep their names, since their entities are not linked to those of P19 and P20.
`date_of_birth` is not read, since its objects are years. `lineid` joins the languages.

Ids: `Q…` is kept, Freebase's `/m/…` becomes `mlama:/m/…`. Without an id, a subject becomes
`mlama:RELATION:LINEID` and an object `mlama:RELATION:LABEL` (the English label of the same
`lineid`), so that an object has one id in all rows of a relation.
"""

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from polyprobe.builder.facts import FACTS, TEMPLATES, Facts, count_changed
from polyprobe.builder.facts.labels import choose_labels, normalise, tidy
from polyprobe.system.download import read_archive
from polyprobe.system.messages import track

from . import SOURCES, bmlama
from .mpararel import ENDS, TUPLES

ABOUT = SOURCES["mlama"]
LICENCE, REASONS, URL, SHA256 = (ABOUT[x] for x in ("licence", "repairs", "url", "sha256"))
ROOT = "mlama1.1"
LANGUAGES = bmlama.LANGUAGES  # BMLAMA-53 derives from mLAMA
GOOGLE_RE = ("place_of_birth", "place_of_death")
RELATIONS = (*GOOGLE_RE, *sorted(relation for relation, *_ in bmlama.BLOCKS))
TRIPLES = {"lineid": pl.Int64, **TUPLES}
ROWS = {**TRIPLES, "language": pl.String, "predicate_id": pl.String}
GIVEN = dict.fromkeys(("language", "relation", "template"), pl.String)
TEXTS = ("sub_label", "obj_label")

# Cyrillic and Greek capitals that look like X and Y, and lower-case letters.
SLOTS = {"[X]": ("[Х]", "[Χ]", "[x]", "[ X ]"), "[Y]": ("[У]", "[Υ]", "[Ү]", "[y]", "[ Y ]")}
FULL_STOP = re.compile(r"\s+([.。।።։۔])$")


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return all facts of English, and labels and templates in some languages (default: all)."""
    selection = LANGUAGES if languages is None else languages
    rows, templates = read_zip(read_archive(URL, SHA256, mirror), sorted({"en", *selection}))
    return collect_triples(rows, templates, selection)


def read_zip(content: bytes, languages: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the zip's rows (ROWS) and templates (GIVEN) in some languages, as released."""
    tables, templates = [pl.DataFrame(schema=ROWS)], []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for language in track(languages, "reading mlama"):
            lines = archive.read(f"{ROOT}/{language}/templates.jsonl").decode("utf-8")
            records = [json.loads(line) for line in lines.split("\n") if line.strip()]
            templates += [(language, x["relation"], x["template"]) for x in records]
            for relation in RELATIONS:
                rows = archive.read(f"{ROOT}/{language}/{relation}.jsonl")
                if rows.strip():
                    names = {"language": pl.lit(language), "predicate_id": pl.lit(relation)}
                    triples = pl.read_ndjson(io.BytesIO(rows), schema=TRIPLES)
                    tables.append(triples.with_columns(**names).select(*ROWS))
    prompts = pl.DataFrame(templates, schema=GIVEN, orient="row")
    return pl.concat(tables), prompts.filter(pl.col("relation").is_in(RELATIONS))


def collect_triples(rows: pl.DataFrame, templates: pl.DataFrame, languages: Sequence[str]) -> Facts:
    """Return ROWS and GIVEN as `Facts`; the counts of repairs always include English's rows."""
    repairs: Counter[str] = Counter()
    plain = tidy(rows, TEXTS)
    repairs[REASONS["untidy"]] += count_changed(rows, plain, TEXTS)
    labelled = plain.filter(*(pl.col(text).str.len_chars() > 0 for text in TEXTS))
    repairs[REASONS["unlabelled"]] += plain.height - labelled.height
    # A fact without a Freebase id has the subject's name also as its object.
    google = pl.col("predicate_id").is_in(GOOGLE_RE)
    distinct = labelled.filter(~(google & (pl.col("sub_label") == pl.col("obj_label"))))
    repairs[REASONS["repeated"]] += labelled.height - distinct.height
    usable = identify_triples(distinct, repairs)
    selection = pl.col("language").is_in(languages)
    part = usable.filter(selection)
    names = pl.concat(part.select("language", id=f"{x}_id", label=f"{x}_label") for x in ENDS)
    ids = usable.select(relation="predicate_id", subject_id="sub_id", object_id="obj_id")
    labels = choose_labels(names, repairs)
    repaired = repair_templates(templates.filter(selection), repairs)
    counts = {reason: count for reason, count in sorted(repairs.items()) if count}
    return Facts(ids.unique().sort(*FACTS), labels, counts, templates=repaired)


def identify_triples(rows: pl.DataFrame, repairs: Counter[str]) -> pl.DataFrame:
    """Return the rows with `sub_id` and `obj_id`; exclude rows without an id and a label."""
    key = ["predicate_id", "lineid"]
    answers = rows.filter(language="en").select(*key, english="obj_label")
    english = answers.unique(key, keep="first", maintain_order=True)
    ids = []
    for end, name in zip(ENDS, ("lineid", "english"), strict=True):
        uri = pl.col(f"{end}_uri")
        freebase = pl.when(uri.str.starts_with("/")).then(pl.concat_str(pl.lit("mlama:"), uri))
        wikidata = pl.when(uri.str.contains(r"^Q\d+$")).then(uri)
        fallback = pl.concat_str(pl.lit("mlama"), "predicate_id", name, separator=":")
        ids.append(wikidata.otherwise(freebase.otherwise(fallback)).alias(f"{end}_id"))
    candidates = rows.join(english, on=key, how="left", maintain_order="left").with_columns(ids)
    complete = candidates.drop_nulls(["sub_id", "obj_id"])
    repairs[REASONS["unknown"]] += candidates.height - complete.height
    linked = pl.all_horizontal(pl.col("sub_id", "obj_id").str.starts_with("Q"))
    repairs[REASONS["no_id"]] += complete.filter(~linked).height
    return complete


def repair_templates(templates: pl.DataFrame, repairs: Counter[str]) -> pl.DataFrame:
    """Return TEMPLATES: the last one for each language and relation, repaired, if usable."""
    # `templates.jsonl` was appended to: as in the Hub's copy (cis-lmu/m_lama), the last one counts.
    last = templates.unique(["language", "relation"], keep="last", maintain_order=True)
    repairs[REASONS["twice"]] += templates.height - last.height
    rows = []
    for language, relation, released in last.sort("language", "relation").iter_rows():
        template = fix_slots(released)
        if not all(template.count(slot) == 1 for slot in SLOTS):
            repairs[REASONS["slot_lost"]] += 1
            continue
        repairs[REASONS["slot_repaired"]] += template != released
        text = FULL_STOP.sub(r"\1", normalise(template, language).strip())
        repairs[REASONS["blank"]] += text != template
        rows.append((language, relation, f"mlama:{relation}:0", text))
    return pl.DataFrame(rows, schema=TEMPLATES, orient="row")


def fix_slots(template: str) -> str:
    """Return the template with variants of a missing slot (SLOTS) replaced by the slot.

    >>> fix_slots("[x] died in [Y] .")
    '[X] died in [Y] .'
    """
    # Only where a slot is missing: a second one would make the template invalid.
    for slot, variants in SLOTS.items():
        for variant in variants if slot not in template else ():
            template = template.replace(variant, slot)
    return template

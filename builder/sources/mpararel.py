"""mParaRel (Fierro and Søgaard, Findings of ACL 2022, arXiv:2203.11552).

Tuples in 103 languages, with Wikidata ids and labels of subject and object, and paraphrased
patterns in 46. Patterns are in lower case and without a final full stop, as their authors use them.
They are machine translations; REPAIRS corrects the defects of translation. The facts are those of
English and of the requested languages (all but one of 34,033 are in English).
"""

import io
import json
import re
from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

import polars as pl

from polyprobe.builder.facts import LABELS, TEMPLATES, Facts, count_changed, is_template
from polyprobe.system.download import Repository, read_files, read_sums
from polyprobe.system.files import read_toml
from polyprobe.system.messages import track

from . import SOURCES

ABOUT = SOURCES["mpararel"]
LICENCE, REASONS = ABOUT["licence"], ABOUT["repairs"]
# Files that are empty upstream (all 41 of Norwegian, 118 others) are not read.
REPOSITORY = Repository(**ABOUT["repository"], sha256=read_sums(__package__, "mpararel.sha256"))
MERGED = {"zh": ("zh-hans", "zh-hant")}  # BMLAMA's zh; the first folder has priority
_FOLDERS = (PurePosixPath(path).parts[-3:-1] for path in REPOSITORY.sha256)
LANGUAGES = tuple(sorted({name for kind, name in _FOLDERS if kind == "tuples"} | MERGED.keys()))
# The machine translations from which it was made: for each translator, language and relation a file
# with a line for each of ParaRel's English templates. Slots are damaged in many lines.
TRANSLATED = REPOSITORY._replace(sha256=read_sums(__package__, "mpararel_translations.sha256"))
TRANSLATED_ROOT = "data/translations"
TRANSLATED_FOLDERS = {"zh-hans": "zh", "zh-hant": "zh-classical"}
TRANSLATORS = ("bing", "google", "m2m100_big", "mbart50_en2m", "opus_mt")
TRANSLATIONS = dict.fromkeys(("translator", "relation", "pattern"), pl.String)
ENDS = ("sub", "obj")
TUPLES = dict.fromkeys(("sub_uri", "sub_label", "obj_uri", "obj_label"), pl.String)
RELEASED_PATTERNS = {"pattern": pl.String, "checked-by-human": pl.Boolean}

# Applied in this order.
REPAIRS = [
    (re.compile(pattern.replace("SLOT", r"\[[XY]\]")), replacement)
    for pattern, replacement in read_toml(__package__, "mpararel_repairs.toml")["repairs"]
]


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return facts, labels and templates in some languages (default: all)."""
    selection = sorted(set(LANGUAGES if languages is None else languages))
    tuples = read_tuples(mirror, sorted({"en"}.union(*map(list_language_folders, selection))))
    facts, labels = list_facts(tuples), list_labels(tuples, selection)
    repairs: Counter[str] = Counter()
    rows = list(list_repaired_patterns(mirror, selection, repairs))
    stripped = labels.with_columns(pl.col("label").str.strip_chars())
    repairs[REASONS["blanks"]] = count_changed(labels, stripped, ["label"])
    counts = {reason: count for reason, count in sorted(repairs.items()) if count}
    return Facts(facts, stripped, counts, templates=pl.DataFrame(rows, TEMPLATES, orient="row"))


def read_truths(mirror: Path | None) -> pl.DataFrame:
    """Return the facts of English, which are all facts of mParaRel but one."""
    return list_facts(read_tuples(mirror, ["en"]))


def list_language_folders(language: str) -> tuple[str, ...]:
    """Return the folders of a language, the preferred one first."""
    return MERGED.get(language, (language,))


def read_tuples(mirror: Path | None, folders: Sequence[str]) -> pl.DataFrame:
    """Return the tuples of the folders, with the columns `folder`, `relation` and TUPLES."""
    tables = []  # with their names: the chunks of all columns decide the bytes of Parquet files
    for folder, relation, content in read_jsonl(mirror, [("tuples", name) for name in folders]):
        table = pl.read_ndjson(io.BytesIO(content), schema=TUPLES)
        names = (pl.Series("folder", [folder]), pl.Series("relation", [relation]))
        tables.append(table.hstack([name.new_from_index(0, len(table)) for name in names]))
    return pl.concat(tables)


def read_jsonl(
    mirror: Path | None, folders: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str, bytes]]:
    """Yield folder, relation and content of the files in folders like ("tuples", "fr")."""
    order = {place: number for number, place in enumerate(folders)}
    pure = [x for x in map(PurePosixPath, sorted(REPOSITORY.sha256)) if x.parts[-3:-1] in order]
    paths = sorted(pure, key=lambda path: order[path.parts[-3], path.parts[-2]])
    contents = read_files(REPOSITORY, map(str, paths), mirror)
    for path, content in zip(track(paths, "reading mpararel"), contents, strict=True):
        yield path.parent.name, path.stem, content


def list_facts(tuples: pl.DataFrame) -> pl.DataFrame:
    """Return each triple once, sorted."""
    facts = tuples.select("relation", subject_id="sub_uri", object_id="obj_uri")
    return facts.unique().sort(pl.all())


def list_labels(tuples: pl.DataFrame, languages: Sequence[str]) -> pl.DataFrame:
    """Return LABELS: for each language and entity the label of the first folder that has one."""
    order = [(x, y, rank) for x in languages for rank, y in enumerate(list_language_folders(x))]
    ranks = pl.DataFrame(order, schema=["language", "folder", "rank"], orient="row")
    names = pl.concat(tuples.select("folder", id=f"{x}_uri", label=f"{x}_label") for x in ENDS)
    rows = names.unique().join(ranks, on="folder").sort("language", "id", "rank", "label")
    return rows.unique(["language", "id"], keep="first", maintain_order=True).select(*LABELS)


def list_repaired_patterns(
    mirror: Path | None, languages: Sequence[str], repairs: Counter[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of TEMPLATES in order, each template once, and count repairs in `repairs`."""
    # N in `mpararel:RELATION:N` is the line of the language's file, from 0. The same N in another
    # language is a different pattern.
    folders = {language: list_language_folders(language) for language in languages}
    places = [("patterns", name) for name in dict.fromkeys(chain(*folders.values()))]
    released: dict[str, dict[str, bytes]] = defaultdict(dict)
    for folder, relation, content in read_jsonl(mirror, places):
        released[folder][relation] = content
    for language, preferred in folders.items():
        # One folder for each relation: two scripts of Chinese would double its templates.
        relations = dict(ChainMap(*(released[name] for name in preferred)))
        for relation, content in sorted(relations.items()):
            lines = content.decode("utf-8").splitlines()
            patterns = [json.loads(line)["pattern"] for line in lines]
            seen = set()
            for number, pattern in enumerate(patterns):
                template = repair_pattern(pattern)
                if not is_template(template):
                    repairs[REASONS["broken"]] += 1
                elif template in seen or (template != pattern and template in patterns):
                    repairs[REASONS["doubled"]] += 1
                else:
                    repairs[REASONS["repaired"]] += template != pattern
                    seen.add(template)
                    yield language, relation, f"mpararel:{relation}:{number}", template


def read_patterns(mirror: Path | None, folder: str) -> pl.DataFrame:
    """Return the patterns of a folder as released: relation, template_id, pattern, reviewed."""
    tables = []
    for _, relation, content in read_jsonl(mirror, [("patterns", folder)]):
        table = pl.read_ndjson(io.BytesIO(content), schema=RELEASED_PATTERNS).with_row_index("line")
        # The id of the repaired pattern, too.
        name = pl.format("mpararel:{}:{}", pl.lit(relation), "line").alias("template_id")
        ids = (pl.lit(relation).alias("relation"), name)
        tables.append(table.select(*ids, "pattern", reviewed="checked-by-human"))
    return pl.concat(tables)


def read_translations(mirror: Path | None, language: str) -> pl.DataFrame:
    """Return TRANSLATIONS of a language: the lines of all translators that have it, in order."""
    name = TRANSLATED_FOLDERS.get(language, language)
    folders = {x: f"{TRANSLATED_ROOT}/pararel_{x}/{name}/" for x in TRANSLATORS}
    present = {x: folder for x, folder in folders.items() if folder in TRANSLATED.sha256}
    contents = read_files(TRANSLATED, present.values(), mirror)
    parts = [pl.DataFrame(schema=TRANSLATIONS)]
    for translator, lines in zip(present, contents, strict=True):
        for file, content in lines.items():
            names = {"translator": pl.lit(translator), "relation": pl.lit(PurePosixPath(file).stem)}
            table = pl.read_ndjson(io.BytesIO(content), schema={"pattern": pl.String})
            parts.append(table.select(**names, pattern="pattern"))
    return pl.concat(parts)


def repair_pattern(pattern: str) -> str:
    """Return the pattern without stray brackets and zero-width spaces.

    >>> repair_pattern("[ [X] ] n] on [Y]hen]")
    '[X]n on [Y]hen'
    """
    for defect, replacement in REPAIRS:
        pattern = defect.sub(replacement, pattern)
    return pattern

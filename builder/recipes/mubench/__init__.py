"""Build mubench: BMLAMA as MuBench has it (arXiv:2506.19468), and as BabyLM 2026 scores it.

A row is a sentence with `_`, lettered options in the lines below it, and the letter or number of
the right one. Files of two languages have other orders of rows and options, and `idx` does not join
them: rows are linked to BMLAMA by what they say.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from string import ascii_uppercase
from unicodedata import category, normalize

import pyarrow as pa

from polyprobe.builder.facts.labels import fold, mend
from polyprobe.builder.sources.bmlama import PUBLISHED, make_published_table, read_published
from polyprobe.schema.columns import FLAGGED, RELEASED, REPEATED, SLOT, Row
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.files import read_user_text
from polyprobe.system.messages import PolyprobeError, one_line

DEFAULT_CONFIG, UNLINKED = "parallel", "unlinked"  # the second is in place of a relation
COLUMNS = pa.schema([*FLAGGED, RELEASED.field("dataset_id")])
ALIASES = {"idx": "_id", "sentence": "prompt"}  # in BabyLM's files and MuBench's
_FILE = re.compile(
    r"(?:bmlama|local_template)_([a-z]+(?:[-_][a-z]{2,4})?)[._/](train|valid|test)[^/]*\.jsonl$"
)
_OPTION = re.compile(r"^[^:：\n]*?(?<![A-Za-z])([A-Z])\s*[:：](.*)", re.MULTILINE)


def download(name: str) -> Path:
    """Return the folder of huggingface_hub's cache with the files of a dataset that are read."""
    from huggingface_hub import snapshot_download

    patterns = ["*BMLAMADataset*local_template_*", "*bmlama_*.jsonl"]
    try:
        return Path(snapshot_download(name, repo_type="dataset", allow_patterns=patterns))
    except Exception as error:  # huggingface_hub's, httpx's or the disk's
        text = f"cannot download {name} from the Hub ({one_line(error)}); try again"
        raise PolyprobeError(text) from error


def find_files(source: str, languages: Sequence[str]) -> dict[str, dict[str, Path]]:
    """Find {language: {part: file}} in a folder, or in OWNER/NAME on the Hub."""
    folder = Path(source)
    if not folder.exists() and source.count("/") == 1:
        folder = download(source)
    files = defaultdict[str, dict[str, Path]](dict)
    for path in sorted(folder.rglob("*.jsonl")):
        if match := _FILE.search(path.relative_to(folder).as_posix()):
            first = files[match[1].replace("_", "-")].setdefault(match[2], path)
            if first != path:
                raise PolyprobeError(f"{first} and {path} are of the same part; remove one")
    if not files:
        raise PolyprobeError(f"no bmlama_LANG.valid.jsonl or rows of MuBench in {source}")
    refuse_languages(languages, source, files)
    return {language: files[language] for language in languages or files}


def read_lettered(path: Path, part: str) -> list[Row]:
    """Read the rows of a file in its order."""
    rows = []
    for number, line in enumerate(read_user_text(path).split("\n"), start=1):
        try:
            if line.strip():
                rows.append(read_line(line)._replace(fact_id=f"mubench:{part}-{number:04}"))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            text = "no JSON with idx, sentence and label: " * (type(error) is not ValueError)
            raise PolyprobeError(f"{path}, line {number}: {text}{one_line(error)}") from error
    if not rows:
        raise PolyprobeError(f"{path} has no rows; copy it again")
    return rows


def read_line(line: str) -> Row:
    """Read a row, with its idx as `published_row`; ValueError for one that cannot be asked."""
    released = json.loads(line)
    idx, text = (released[x if x in released else y] for x, y in ALIASES.items())
    cloze = re.search("^.*_.*$", text, re.MULTILINE)
    prompt = re.sub("_+", SLOT, cloze[0].strip()) if cloze else ""
    if not cloze or prompt.count(SLOT) != 1:
        raise ValueError("expected one _ in the sentence, in the place of the answer")
    lettered = _OPTION.findall(text, cloze.end())
    options = [option.strip() for _, option in lettered] or released.get("choices", [])
    letters = [*ascii_uppercase[: len(options)]]
    if not options or not all(options) or [x for x, _ in lettered] not in ([], letters):
        raise ValueError("expected options in lines that begin with A:, B: and so on")
    keys = [*letters, *range(len(letters))]
    if released["label"] not in keys:
        raise ValueError(f"label {released['label']!r} has no option; the last is {letters[-1]}")
    right = keys.index(released["label"]) % len(letters)
    ends = [right], [options[right]], UNLINKED, (), str(idx)
    return Row("", UNLINKED, "", "", "", prompt, options, [], *ends)


def read_facts(mirror: Path | None, languages: Collection[str]) -> dict[str, dict[str, Row]]:
    """Read BMLAMA's {language: {id: fact}}; a fact of both configurations has the id of 17."""
    ids: dict[tuple[str, str], str] = {}
    facts: dict[str, dict[str, Row]] = {}
    for config in PUBLISHED:
        names, relations, columns = read_published(config, mirror)
        keys = [*zip(columns["en"].prompt, columns["en"].answer, strict=True)]
        fact_ids = [ids.get(key, name) for key, name in zip(keys, names, strict=True)]
        for language in (columns.keys() - facts.keys()).intersection(languages):
            table = make_published_table(columns[language], fact_ids, relations)
            facts[language] = {fact["fact_id"]: Row(**fact) for fact in table.to_pylist()}
        ids |= zip(keys, names, strict=True)
    return facts


@lru_cache(maxsize=1 << 18)  # labels repeat in thousands of rows
def bare(text: str, language: str) -> str:
    """Return a text without blanks, punctuation, and differences of case, width and script."""
    text = fold(normalize("NFKC", mend(text, language)))
    return "".join(x for x in text if category(x)[0] not in "PZC")


def link(rows: Collection[Row], facts: Collection[Row], language: str) -> list[Row]:
    """Return the rows of a file with the ids of their facts.

    Row and fact have the same answer, and the same sentence, or the fact's subject is in the row's
    and half of the options are equal, in the same number. Both fit no other as well as each other.
    """
    by_answer = defaultdict[str, list[Row]](list)
    for fact in facts:
        by_answer[bare(fact.answer_forms[0], language)].append(fact)
    pairs, fits = [], defaultdict[str, list[tuple[bool, int, bool]]](list)
    for row in rows:
        prompt, options = bare(row.prompt, language), {bare(x, language) for x in row.candidates}
        for fact in by_answer[bare(row.answer_forms[0], language)]:
            shared = len(options.intersection(bare(x, language) for x in fact.candidates))
            half = 2 * shared >= len(row.candidates) == len(fact.candidates)
            subject, same = bare(fact.subject, language), bare(fact.prompt, language) == prompt
            if same or (half and subject and subject in prompt):
                fit = same, shared, fact.prompt == row.prompt
                pairs.append((fit, row.fact_id, fact))
                fits[row.fact_id].append(fit)
                fits[fact.fact_id].append(fit)
    best = {name: max(of) for name, of in fits.items() if of.count(max(of)) == 1}
    links = {x: fact for fit, x, fact in pairs if best.get(x) == best.get(fact.fact_id) == fit}
    names = ("fact_id", "relation", "subject", "template_id")
    return [x._replace(**{y: getattr(links.get(x.fact_id, x), y) for y in names}) for x in rows]


def flag(row: Row, right: Collection[str], is_trained: bool) -> Row:
    """Return a row with its flags; `right` are the right answers of all rows of its sentence."""
    marks = {
        "known_second_answer": len({*right}.intersection(row.candidates)) > 1,
        "prompt_in_train": is_trained,
        REPEATED: len({*row.candidates}) < len(row.candidates),
    }
    return row._replace(flags=[name for name, is_so in marks.items() if is_so])


def reorder(row: Row, fact: Row, language: str) -> Row | None:
    """Return a row with the options in the order of its fact; None if several differ."""
    options = {bare(name, language): name for name in row.candidates}
    ordered = [options.pop(bare(name, language), "") for name in fact.candidates]
    if len(options) == ordered.count("") == 1:
        ordered[ordered.index("")] = options.popitem()[1]
    answers = fact.answers[:1]
    return None if options or "" in ordered else row._replace(candidates=ordered, answers=answers)


def make_table(rows: Collection[Row]) -> pa.Table:
    """Return rows as a table, with their released ids."""
    lines = [row._asdict() | {"dataset_id": row.published_row} for row in rows]
    return pa.Table.from_pylist(lines, COLUMNS)


def make_configs(
    source: str, languages: Sequence[str], mirror: Path | None
) -> dict[str, dict[str, pa.Table]]:
    """Return {configuration: {language: rows}}: LANG-PART as released, and `parallel`."""
    files, made = find_files(source, languages), defaultdict[str, dict[str, list[Row]]](dict)
    facts, aligned = read_facts(mirror, files), defaultdict[str, dict[str, Row]](dict)
    for language, paths in files.items():
        published, right = facts.get(language, {}), defaultdict[str, set[str]](set)
        parts = {part: read_lettered(path, f"{language}-{part}") for part, path in paths.items()}
        for row in chain.from_iterable(parts.values()):
            right[row.prompt].update(row.answer_forms)
        trained = {row.prompt for row in parts.get("train", ())}
        for part, rows in parts.items():
            seen = trained if part != "train" else ()
            rows = [flag(row, right[row.prompt], row.prompt in seen) for row in rows]
            made[f"{language}-{part}"][language] = rows = link(rows, published.values(), language)
            for row in rows:
                fact = published.get(row.fact_id)
                if fact and (x := reorder(row, fact, language)):
                    aligned[row.fact_id][language] = x
    for _, of in sorted(aligned.items()):
        flags = sorted({flag for row in of.values() for flag in row.flags or ()})
        if 1 < len(of) == len(facts) and len({len(row.candidates) for row in of.values()}) == 1:
            for language, row in of.items():
                made[DEFAULT_CONFIG].setdefault(language, []).append(row._replace(flags=flags))
    return {x: {y: make_table(rows) for y, rows in of.items()} for x, of in made.items()}

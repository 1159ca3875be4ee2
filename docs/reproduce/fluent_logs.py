"""Turn the authors' logs of Fluent-mLAMA into runs, which `polyprobe compare` reads like any other.

    python docs/reproduce/fluent_logs.py LOGS.zip --languages ru,uk --output runs/logs

LOGS.zip holds one TSV for each language and relation, `…/ru_P36_template_gt_chatgpt.tsv`, as
Semenov and Sennrich's code writes them: stats.zip, or stats_wide.zip with aliases as correct
answers. For each language and wording it writes a run, `runs/logs/ru`, `runs/logs/ru-sentence` and
`runs/logs/ru-chatgpt` (from wide logs with `-wide` behind these), and their dataset,
`runs/logs/data`. Then

    polyprobe compare runs/logs/ru runs/logs/ru-sentence runs/logs/ru-chatgpt

gives the paper's tables 1, 3 and 7 and its figures 3 and 4, with `--by-relation` the changes of
table 5, and with `--gender` table 6 (from logs with `--keep-short`). The dataset also has LAMA's
English sentences, for `--comet`.

The score of a correct form is minus its logged rank. The logs do not name the distractors: other
ranks up to the largest have the candidates `#1`, `#2`, …. A fact has as many candidates in all
wordings, and the same forms, unless one wording has those of another fact (`compare` counts these
rows). Facts with a short Google prompt are left out as in the paper unless `--keep-short` is given,
and so are relations that its tables do not use (`RELATIONS`).
"""

import csv
import io
import sys
import zipfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from ast import literal_eval
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from polyprobe.builder.recipes import FLUENT_WIDE
from polyprobe.builder.recipes.fluent_mlama import RELATIONS, WORDINGS
from polyprobe.schema.columns import SLOT, Row, fingerprint, to_table
from polyprobe.schema.languages import split_list
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import SCORES, Run
from polyprobe.schema.run.settings import Settings
from polyprobe.system.files import hash_text
from polyprobe.system.messages import PolyprobeError, one_line, unknown

KINDS = {"template": "template", "google": "gt", "chatgpt": "chatgpt"}  # in the columns' names
FORMS = {"template": "obj_label", "gt": "gt_infl_object", "chatgpt": "chatgpt_infl_object"}
SENTENCES = {"template": "template", "gt": "gt_translation", "chatgpt": "chatgpt_translation"}
NEEDED = {"sub_uri", "obj_uri", "sub_label", "en_sub_label", "en_obj_label", "en_template"}
MODEL = "meta-llama/Llama-2-7b-chat-hf"  # of the authors' script.py
Line = dict[str, str]


def main(argv: Sequence[str] | None = None) -> None:
    """Read the logs of each language and write its runs."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--languages", required=True, help="comma-separated")
    parser.add_argument("--output", type=Path, default=Path("runs", "fluent-logs"))
    parser.add_argument("--keep-short", action="store_true", help="no filter by length")
    asked = parser.parse_args(argv)
    languages = split_list(asked.languages)
    if not languages:
        raise PolyprobeError("--languages is empty; give codes such as ru,uk")
    for language in languages:
        if language not in RELATIONS:
            raise unknown("language", language, "Fluent-mLAMA's paper", RELATIONS)
    for language in languages:
        for run in write_runs(asked.logs, language, asked.output, asked.keep_short):
            print(run.folder)


def write_runs(logs: Path, language: str, output: Path, keep_short: bool = False) -> list[Run]:
    """Return the written runs of a language, one for each logged wording, templates first.

    Raises:
        PolyprobeError: logs that lack one of its relations, or an output that exists.
    """
    lines, wide = read_logs(logs, language)
    kept = [(relation, line) for relation, line in lines if keep_short or has_length(line)]
    kinds = list_kinds([lines[0][1]])
    wordings = [
        (language + suffix + wide, KINDS[wording])
        for suffix, wording in WORDINGS.items()
        if KINDS[wording] in kinds
    ]
    for config, _ in wordings:
        if (output / config).exists():
            raise PolyprobeError(f"{output / config} exists; choose another --output")
    write_english(output / "data", [make_english(relation, line) for relation, line in kept])
    for config, kind in wordings:
        rows = [make_row(relation, line, kind, kinds) for relation, line in kept]
        folder = output / "data" / "data" / config
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(to_table(rows), folder / f"{language}.parquet")
    write_card(output / "data")
    return [
        write_run(output / config, output / "data", language, [line for _, line in kept], kind)
        for config, kind in wordings
    ]


def read_logs(logs: Path, language: str) -> tuple[list[tuple[str, Line]], str]:
    """Return (relation, row) of the paper's relations, and the end of the configurations' names.

    Logs are wide if other names than label and forms are correct in most rows.
    """
    tables: dict[tuple[str, str], list[Line]] = {}
    try:
        with zipfile.ZipFile(logs) as archive:
            for relation in RELATIONS[language]:
                begun = f"{language}_{relation}_"
                names = [n for n in archive.namelist() if PurePath(n).name.startswith(begun)]
                if len(names) != 1:
                    raise PolyprobeError(
                        f"{logs} has {len(names)} files named {begun}….tsv, expected 1"
                    )
                with io.TextIOWrapper(archive.open(names[0]), "utf-8", newline="") as text:
                    tables[relation, names[0]] = list(csv.DictReader(text, delimiter="\t"))
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError, csv.Error) as error:
        raise PolyprobeError(f"cannot read {logs}: {one_line(error)}") from error
    kinds = list_kinds(next(iter(tables.values())))
    for (_, name), rows in tables.items():
        check_rows(f"{logs}: {name}", rows, kinds)
    found = [(relation, row) for (relation, _), rows in tables.items() for row in rows]
    wide = sum(has_aliases(line) for _, line in found) > len(found) / 2
    return found, FLUENT_WIDE if wide else ""


def list_kinds(rows: Sequence[Line]) -> list[str]:
    """Return the logged wordings; Google's is expected in all logs, for the filter by length."""
    return [x for x in KINDS.values() if x == "gt" or (rows and f"{x}_true_ranks" in rows[0])]


def check_rows(place: str, rows: Sequence[Line], kinds: Sequence[str]) -> None:
    """Refuse no rows, a missing column of these wordings, and rows without ranks in them."""
    if not rows:
        raise PolyprobeError(f"{place} has no rows")
    columns = {f"{x}_{end}" for x in kinds for end in ("prompt", "prompt_prob", "true_ranks")}
    columns |= NEEDED | {names[x] for x in kinds for names in (FORMS, SENTENCES)}
    if lost := columns - {*rows[0]}:
        raise PolyprobeError(f"{place} lacks {', '.join(sorted(lost))}")
    for number, row in enumerate(rows, 1):
        try:
            whole = None not in row.values()
            for kind in kinds:
                whole &= min(read_ranks(row, kind).values()) > 0
                float(row[f"{kind}_prompt_prob"])
        except (LookupError, SyntaxError, TypeError, ValueError):
            whole = False
        if not whole:
            raise PolyprobeError(
                f"{place}, row {number}: expected all columns, a log-probability and ranks such as "
                f"{{'Lima': 1}} for {', '.join(kinds)}"
            )


def has_aliases(line: Line) -> bool:
    """Return whether other names than the label and the forms are ranked as correct."""
    return not {line.get(name) for name in FORMS.values()}.issuperset(read_ranks(line, "gt"))


def has_length(line: Line) -> bool:
    """Return whether Google's prompt has at least a third of the others' mean length."""
    others = [line[name] for name in ("template_prompt", "chatgpt_prompt") if name in line]
    return 3 * len(others) * len(line["gt_prompt"]) >= sum(map(len, others))


def read_ranks(line: Line, kind: str) -> dict[str, int]:
    """Return the ranks of a row's correct forms from 1, the label first, then in logged order."""
    ranks: dict[str, int] = literal_eval(line[f"{kind}_true_ranks"])
    forms = [line[name] for name in FORMS.values() if line.get(name) in ranks]
    return {form: ranks[form] for form in dict.fromkeys([*forms, *ranks])}


def make_row(relation: str, line: Line, kind: str, kinds: Sequence[str]) -> Row:
    """Return a fact's row in one wording."""
    forms = [*read_ranks(line, kind)]
    candidates = [*forms, *name_others(line, kinds, len(forms))]
    subject, thing = line["sub_uri"], line["obj_uri"]
    return Row(
        fact_id=f"{relation}:{subject}:{thing}",
        relation=relation,
        subject_id=subject,
        object_id=thing,
        subject=line["sub_label"],
        prompt=open_slot(line, kind),
        candidates=candidates,
        candidate_ids=[f"{hash_text(name):064x}"[:16] for name in candidates],
        answers=[*range(len(forms))],
        answer_forms=forms,
        template_id=f"fluent-mlama:{relation}:{kind}",
    )


def make_english(relation: str, line: Line) -> Row:
    """Return the fact's row of LAMA's English sentence, the source of the translations.

    The sentence ends in the object; one without it has the slot at its end.
    """
    subject, thing = line["sub_uri"], line["obj_uri"]
    label = line["en_obj_label"]
    start, found, end = line["en_template"].rpartition(label)
    return Row(
        fact_id=f"{relation}:{subject}:{thing}",
        relation=relation,
        subject_id=subject,
        object_id=thing,
        subject=line["en_sub_label"],
        prompt=f"{start}{SLOT}{end}" if found else f"{end} {SLOT}",
        candidates=[label, f"{label} #1"],
        candidate_ids=["right", "wrong"],
        answers=[0],
        answer_forms=[label],
        template_id=f"fluent-mlama:{relation}:en",
    )


def open_slot(line: Line, kind: str) -> str:
    """Return the sentence with the slot in place of the object; what scores saw is before it."""
    start, form = line[f"{kind}_prompt"], line[FORMS[kind]]
    return start + SLOT + line[SENTENCES[kind]].removeprefix(start + form)


def name_others(line: Line, kinds: Sequence[str], n_forms: int) -> list[str]:
    """Return names for the other candidates, as many as the largest logged rank needs."""
    largest = max(max(read_ranks(line, kind).values()) for kind in kinds)
    return [f"#{n + 1}" for n in range(largest - n_forms)]


def write_english(folder: Path, rows: Sequence[Row]) -> None:
    """Write the English sentences of these facts, besides those of other languages."""
    file = folder / "data" / "en" / "en.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    table = to_table(list({row.fact_id: row for row in rows}.values()))
    if file.exists():
        old = pq.read_table(file)
        new = pc.invert(pc.is_in(table["fact_id"], old["fact_id"].combine_chunks()))
        table = pa.concat_tables([old, table.filter(new)])
    pq.write_table(table, file)


def write_card(folder: Path) -> None:
    """Write a card that lists all configurations of the folder."""
    lines = ["---", "configs:"]
    for config in sorted(path.name for path in (folder / "data").iterdir()):
        lines += [f"- config_name: {config}", "  data_files:"]
        for file in sorted((folder / "data" / config).glob("*.parquet")):
            lines += [f"  - split: {file.stem}", f"    path: data/{config}/{file.name}"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]), encoding="utf-8")


def write_run(folder: Path, data: Path, language: str, lines: Sequence[Line], kind: str) -> Run:
    """Write run.json and the scores of a wording."""
    config = folder.name
    [table] = load_facts(str(data), config, [language]).values()
    run = Run(folder)
    run.open(
        Settings(
            model=MODEL, revision="logs", dataset=str(data.resolve()), config=config,
            fingerprint={language: fingerprint(table)}, languages=[language], limit=None,
            sample=None, scoring="object-released", bos="auto", dtype="float16", device="cuda",
        )
    )  # fmt: skip
    scored = zip(table["candidates"].to_pylist(), lines, strict=True)
    columns: dict[str, Any] = {
        **table.select(["fact_id", "relation", "answers"]).to_pydict(),
        "scores": [score_ranks(len(row), read_ranks(line, kind)) for row, line in scored],
        "prompt_log_probability": [read_probability(line, kind) for line in lines],
    }
    empty = [None] * len(table)
    run.write(language, pa.table({name: columns.get(name, empty) for name in SCORES.names}, SCORES))
    return run


def score_ranks(n: int, ranks: dict[str, int]) -> list[float]:
    """Return scores of n candidates, the ranked ones first; the others fill the remaining ranks.

    >>> score_ranks(4, {"Лима": 3, "Лиме": 1})
    [-3.0, -1.0, -2.0, -4.0]
    """
    free: Iterator[int] = (rank for rank in range(1, n + 1) if rank not in ranks.values())
    return [-float(rank) for rank in (*ranks.values(), *free)]


def read_probability(line: Line, kind: str) -> float | None:
    """Return the logged log-probability of the prompt, None if any wording's underflowed (-inf)."""
    names = (f"{kind}_prompt_prob" for kind in KINDS.values())
    finite = all(isfinite(float(line[name])) for name in names if name in line)
    return float(line[f"{kind}_prompt_prob"]) if finite else None


if __name__ == "__main__":
    try:
        main()
    except (PolyprobeError, OSError) as error:
        sys.exit(f"error: {error}")

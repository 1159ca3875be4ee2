"""Find in each free answer the object of the relation that it names."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from polyprobe.metrics.shared.verdicts import Containment, Judge, Verdict
from polyprobe.schema.columns import SENTENCE_START, SLOT
from polyprobe.schema.languages import find_lemma
from polyprobe.schema.load import Splits, load_facts
from polyprobe.schema.run.folder import ANSWERS
from polyprobe.schema.run.protocol import NO_CANDIDATES, list_relation_objects, read_forms
from polyprobe.system.messages import PolyprobeError, explain_missing_extras, report

from .options import JudgeOptions
from .questions import DONOR_PROMPT

DEFAULTS = JudgeOptions()
SURROGATE = re.compile("[\ud800-\udfff]")
Pool = dict[str, dict[str, dict[str, None]]]  # names by entity and language
Show = Callable[[str], str]
_Texts = Iterable[str | None]
Tables = Mapping[str, pa.Table]
OBJECTS = "objects"  # column of the labels that `candidates` had


def hide_objects(table: pa.Table) -> pa.Table:
    """Move the candidates to OBJECTS: a free answer has none."""
    none = pa.array([[*NO_CANDIDATES]] * len(table), pa.list_(pa.string()))
    at = table.column_names.index("candidates")
    return table.append_column(OBJECTS, table["candidates"]).set_column(at, "candidates", none)


def load_names(dataset: str | Splits, config: str | None, languages: Sequence[str]) -> Tables:
    """Load all splits, for the names in every language; or these, where others cannot be read."""
    try:
        return load_facts(dataset, config)
    except PolyprobeError as error:
        tables = load_facts(dataset, config, languages)
        report(f"warning: only names in {', '.join(tables)} are found: {error}")
        return tables


def read_names(
    dataset: str | Splits, config: str | None, language: str, tables: Tables
) -> tuple[str, dict[str, list[str]]]:
    """Read a language's split, and its labels and forms of right answers by fact."""
    option = f"--also-accept {language}"
    try:
        (split, table), *rest = load_facts(dataset, config, language).items()
    except PolyprobeError as error:
        try:  # xfactr has its languages in configurations
            (split, table), *rest = load_facts(dataset, language, language).items()
        except PolyprobeError:
            raise PolyprobeError(f"--also-accept: {error}") from error
    names: dict[str, list[str]] = {}
    for fact, forms in zip(table["fact_id"].to_pylist(), read_forms(table, True), strict=True):
        names.setdefault(fact, []).extend(forms)
    facts = {*next(iter(tables.values()))["fact_id"].to_pylist()}
    if rest or {*tables} == {split} or facts.isdisjoint(names):
        text = "expected one further language that has names of the run's facts"
        raise PolyprobeError(f"{option}: {text}")
    if n := len(facts - {*names}):
        report(f"{option}: {n:,} of {len(facts):,} facts have no name in it")
    return split, names


class Judges:
    """A judge for each language and relation; the entities are the relation's objects.

    Args:
        tables: the whole splits of a dataset, whose labels and accepted forms are the names.
        first: the language whose labels identify objects without ids.
    """

    def __init__(self, tables: Tables, first: str, options: JudgeOptions = DEFAULTS) -> None:
        self._options = options
        objects = list_relation_objects(tables[first])
        self.names, self._verdicts = objects.names, dict[tuple[Any, ...], Verdict]()
        self._judges: dict[tuple[Any, ...], Judge | Containment] = {}
        self._lemmas: dict[str, Callable[[str], str] | None] = {}
        # Relations may share their objects
        self._pools: dict[tuple[str, ...], Pool] = {
            tuple(names): {name: {} for name in names} for names in objects.names.values()
        }
        relations = tables[first]["relation"].to_pylist()
        for language, table in tables.items():
            labels = table["candidates"]
            for relation, places in objects.places.items():
                names = self.names[relation]
                pool = self._pools[tuple(names)]
                for name, (row, index) in zip(names, places, strict=True):
                    pool[name].setdefault(language, {})[labels[row][index].as_py()] = None
            rows = zip(relations, objects.answers, read_forms(table), strict=True)
            for relation, numbers, forms in rows:
                if len(numbers) == 1:  # else a form may be of each
                    names = self.names[relation]
                    pool = self._pools[tuple(names)]
                    pool[names[numbers[0]]][language] |= dict.fromkeys(forms)

    def read(self, language: str, row: Mapping[str, Any], answer: str) -> Verdict:
        """Return the verdict on the answer to a row with `relation`, `prompt` and `answers`."""
        names = self.names[row["relation"]]
        key = language, tuple(names)
        if key not in self._judges:
            self._judges[key] = self._make_judge(self._pools[key[1]], language)
        right = (*(names[k] for k in row["answers"] or ()),)
        case = *key, row["prompt"], answer, right
        if case not in self._verdicts:  # a donor's answer is that of its own row
            question = row["prompt"].rpartition(SENTENCE_START)[2].replace(SLOT, "")
            self._verdicts[case] = self._judges[key].read(answer, question, right)
        return self._verdicts[case]

    def _make_judge(self, pool: Pool, language: str) -> Judge | Containment:
        if self._options.match == "contains":
            return Containment(pool, language)
        if self._options.lemmatizer == "none":
            return Judge(pool, language)
        if language not in self._lemmas:
            with explain_missing_extras("judging with simplemma", any_package=True):
                self._lemmas[language] = find_lemma(language)
            if self._lemmas[language] is None:
                report(f"{language}: simplemma has no lemmas; letters are compared")
        return Judge(pool, language, self._lemmas[language] or str)

    def make_table(
        self, language: str, table: pa.Table, texts: _Texts, of_donors: _Texts, show: Show
    ) -> pa.Table:
        """Return the rows with the columns of `ANSWERS`.

        `of_donors` are answers in the sentences of donors or None; `show` gives a prompt as sent.
        """
        names = {*ANSWERS.names, "prompt", DONOR_PROMPT} & {*table.column_names}
        rows = table.select(names).to_pylist()
        for row, text, of_donor in zip(rows, texts, of_donors, strict=True):
            question = row | {"prompt": row[DONOR_PROMPT], "answers": row.pop("donor_answers")}
            row.update(self._judge(language, row, text or ""), asked=show(row["prompt"]))
            if of_donor is not None:
                judged = self._judge(language, question, of_donor)
                row.update(donor_answer=judged["answer"], donor_scores=judged["scores"])
                row["donor_answers"] = []  # none is left out: answers are compared, not rankings
        return pa.Table.from_pylist(rows, schema=ANSWERS)

    def _judge(self, language: str, row: Mapping[str, Any], answer: str) -> dict[str, Any]:
        kind, entity, *_ = self.read(language, row, answer)
        return {
            "scores": [float(name == entity) for name in self.names[row["relation"]]],
            "answer": SURROGATE.sub("\ufffd", answer),  # Parquet has no lone ones
            "verdict": kind,
            "entity": entity,
        }

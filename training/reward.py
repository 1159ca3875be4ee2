"""Consistency as a signal for training: a reward for GRPO, preferences for DPO, as TRL takes them.

A completion is the candidate that it names, by the rules of `answer_match`: text behind the name
does not matter, and a list of candidates names none.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from polyprobe.analysis.figures.facts import masked_scores, read_scored
from polyprobe.metrics.shared.verdicts import Judge
from polyprobe.schema.columns import SLOT, key_rows, place_rows
from polyprobe.schema.languages import refuse_languages
from polyprobe.schema.run.folder import Run, load_again, read_run_tables
from polyprobe.schema.run.protocol import as_asked
from polyprobe.system.messages import PolyprobeError, one_line, report

_Completions = Sequence[str | Sequence[Mapping[str, str]]]  # texts, or messages of chats


class Rewards:
    """Rewards and preferences by the answers that a model gives in a source language.

    Both rewards take prompts, completions and the columns of `list_prompts` (default of `template`:
    the fact's first), and raise PolyprobeError for a row that the run lacks.
    """

    def __init__(self, folder: str | Path, source: str = "en") -> None:
        """Read a run of scores with the same candidates in every language, and its dataset."""
        run = Run(folder)
        settings = run.settings()
        if settings.kind != "scores":
            raise PolyprobeError(f"{folder} has free predictions; rewards need scored candidates")
        facts = read_scored(run, read_run_tables(run), with_parts=False)
        refuse_languages([source], str(folder), facts.languages)
        if not facts.matched:
            raise PolyprobeError(f"{folder}: candidates differ by language; use another dataset")
        ids = facts.table["fact_id"].to_pylist()
        tables = as_asked(load_again(settings, facts.languages), settings.scoring)
        places = place_rows(tables[source], ids)
        self._texts = {x: table.take(places).to_pylist() for x, table in tables.items()}
        self._source, self._keys, self._answers = source, key_rows(ids), facts.answers
        self._rows = {key: row for row, key in enumerate(self._keys)}
        # The probability that a language chooses a candidate [facts, candidates], as in the metrics
        self._shares = dict[str, np.ndarray]()
        for language, table in facts.tables.items():
            scores = masked_scores(table)
            best = (scores == scores.max(axis=1, keepdims=True)).filled(False)
            shares = best / best.sum(axis=1, keepdims=True)
            self._shares[language] = scores.filled(0) if facts.protocol.choices else shares
        self._find = lru_cache(2**16)(self._find_places)

    def consistency(self, prompts: Any, completions: _Completions, **columns: Any) -> list[float]:
        """Reward the source language's answer, right or wrong: `answer_agreement` of the row.

        1 for its answer, 1 / t for one of t with the same score, else 0 (`agreement_per_query`).
        """
        shares, pairs = self._shares[self._source], self._name(completions, columns)
        return [float(shares[row, places].sum()) for row, places in pairs]

    def right(self, prompts: Any, completions: _Completions, **columns: Any) -> list[float]:
        """Reward a right answer: `accuracy_at_1` of the row, if the completion is the choice."""
        pairs = self._name(completions, columns)
        return [float(not {*self._answers[row]}.isdisjoint(places)) for row, places in pairs]

    def list_prompts(self, languages: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """List the prompts of some languages (default: all), each up to the slot.

        Rows with nothing in front of the slot are left out, and counted in a message.
        """
        return [columns for _, columns, *_ in self._ask(languages or [*self._texts])]

    def list_preferences(self, languages: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """List `prompt`, `chosen`, `rejected` where a language differs from the source language.

        Chosen is the answer of the source language, rejected that of the prompt's (default: all but
        the source), both with the rest of the sentence. Ties for the best score give no pair.
        """
        rows, targets = [], [language for language in self._texts if language != self._source]
        for row, columns, blank, end in self._ask(languages or targets):
            language = columns["language"]
            labels = self._texts[language][row]["candidates"]
            shares = [self._shares[x][row] for x in (self._source, language)]
            chosen, rejected = (f"{blank}{labels[x.argmax()]}{end}" for x in shares)
            if chosen != rejected and all(x.max() == 1 for x in shares):
                rows.append({**columns, "chosen": chosen, "rejected": rejected})
        return rows

    def _ask(self, languages: Sequence[str]) -> Iterator[tuple[int, dict[str, Any], str, str]]:
        """Yield the row, the columns of `list_prompts`, and the blank and text around the slot."""
        refuse_languages(languages, "the run", self._texts)
        n_empty = 0
        for language in languages:
            for row, (fact, template) in enumerate(self._keys):
                start, _, end = self._texts[language][row]["prompt"].partition(SLOT)
                prompt = start.rstrip()
                n_empty += not prompt
                columns = {"fact_id": fact, "template": template, "language": language}
                if prompt:
                    yield row, {"prompt": prompt, **columns}, start[len(prompt) :], end
        if n_empty:
            report(f"{n_empty:,} rows left out: they have nothing in front of the slot")

    def _name(
        self, completions: _Completions, columns: Mapping[str, Sequence[Any]]
    ) -> Iterator[tuple[int, list[int]]]:
        """Yield the row of each completion, and the places of the candidate that it names."""
        templates = columns.get("template") or [0] * len(completions)
        try:
            # A message that only calls a tool has no text
            texts = [x if isinstance(x, str) else x[-1]["content"] or "" for x in completions]
            sides = columns["fact_id"], templates, columns["language"]
            rows = [*zip(*sides, texts, strict=True)]
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("a completion is neither text nor messages with text")
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise PolyprobeError(
                f"rewards cannot read the batch ({one_line(error)}); they need fact_id and "
                "language of list_prompts for each completion, which is text or messages"
            ) from error
        for fact, template, language, answer in rows:
            row = self._rows.get((fact, template))
            if row is None or language not in self._texts:
                raise PolyprobeError(
                    f"template {template!r} of fact {fact!r} in {language!r} is not in the run; "
                    "use the rows of list_prompts"
                )
            yield row, self._find(row, language, answer)

    def _find_places(self, row: int, language: str, text: str) -> list[int]:
        texts = self._texts[language][row]
        labels, question = texts["candidates"], texts["prompt"].replace(SLOT, "")
        judge = Judge({label: {language: [label]} for label in labels}, language)
        name = judge.read(text, question, [labels[k] for k in self._answers[row]]).entity
        return [place for place, label in enumerate(labels) if label == name]

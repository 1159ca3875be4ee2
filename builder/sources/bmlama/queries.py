"""A published row as ids, and the codes of its repairs."""

from collections.abc import Iterable
from typing import NamedTuple

REPAIRS = {
    "unlinked": "no Wikidata fact could be found: the ids are the row's own",
    "parallel": "candidates named other entities than in English; now the same ones",
    "missing_label": "distractors without a label in some language were replaced",
    "missing_label_removed": "distractors without a label in some language were removed: the "
    "relation has nothing to replace them",
    "subject": "the subject stood among its own distractors and was replaced",
    "subject_removed": "the subject stood among its own distractors and was removed: the relation "
    "has nothing to replace it",
    "second_answer": "distractors that are right as well were replaced",
    "second_answer_removed": "distractors that are right as well were removed: the relation "
    "has nothing to replace them",
    "duplicate_label": "distractors whose label would stand twice, in some language, were replaced",
    "duplicate_label_removed": "distractors whose label would stand twice, in some language, "
    "were removed: the relation has nothing to replace them",
    "label": "labels that the released files cut at a comma, or that are plainly wrong, are whole",
    "filled": "the row had a single candidate and got distractors",
    "answer_moved": "the answer no longer stands last",
    "template": "the published template is plainly wrong; the prompt was made from ours",
    "invisible_characters": "invisible characters in the prompt, the subject or a candidate "
    "were replaced by blanks or removed",
    "mixed_alphabets": "words of the prompt, the subject or a candidate that mixed alphabets (a "
    "Latin A in Greek) are in one",
}


class PublishedQuery(NamedTuple):
    """One row as ids, the same in every language.

    `candidates` contains `answer` exactly once. Both are Wikidata ids, or `bmlama:RELATION:LABEL`.
    `repairs` are the keys of REPAIRS that apply to all languages.
    """

    published_row: str
    relation: str
    subject_id: str
    answer: str
    candidates: tuple[str, ...]
    repairs: tuple[str, ...] = ()

    @property
    def fact_id(self) -> str:
        """Return an id such as `P36:Q142:Q90`, or the published row's id if it is not linked."""
        if "unlinked" in self.repairs:
            return self.published_row
        return f"{self.relation}:{self.subject_id}:{self.answer}"

    def repaired(self, candidates: Iterable[str], *codes: str) -> "PublishedQuery":
        """Return the query with new candidates and further codes of repairs."""
        return self._replace(candidates=tuple(candidates), repairs=self.repairs + codes)

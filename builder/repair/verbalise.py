"""From a mended query to its row in one language."""

import hashlib
from collections.abc import Sequence

from ..invisible import find_invisible, normalise
from ..table import Row
from .query import REPAIRS, Query

Labels = Sequence[str]


def place_answer(query: Query) -> Query:
    """Return the query with its answer at the place that a hash of its id draws."""
    others = [name for name in query.candidates if name != query.answer]
    digest = hashlib.sha256(query.fact_id.encode()).digest()
    place = int.from_bytes(digest, "big") % len(query.candidates)
    codes = () if place == len(others) else ("answer_moved",)
    others.insert(place, query.answer)
    return query.repaired(others, *codes)


def verbalise(
    query: Query,
    published: Row,
    meant: Labels,
    labels: Labels,
    language: str,
    template: str | None = None,
) -> Row:
    """Return the row of one language.

    Args:
        query: mended, its answer placed.
        published: the row it was made from, in this language.
        meant: this language's labels of the entities that English's published candidates name.
        labels: this language's labels of the query's candidates.
        language: the language.
        template: what takes the place of a published one that is plainly wrong.
    """
    subject = normalise(published.subject, language)
    prompt = template or normalise(published.prompt, language)
    codes = [*query.repairs, *find_codes(published, meant, bool(template), language)]
    return Row(
        fact_id=query.fact_id,
        relation=query.relation,
        subject_id=query.subject_id,
        object_id=query.answer,
        subject=subject,
        prompt=prompt.replace("[X]", subject),
        candidates=list(labels),
        candidate_ids=list(query.candidates),
        answers=[query.candidates.index(query.answer)],
        answer_forms=[labels[query.candidates.index(query.answer)]],
        template_id=f"polyprobe:{query.relation}" if template else query.relation,
        repairs=sorted(codes, key=list(REPAIRS).index),
        published_row=query.published_row,
    )


def find_codes(published: Row, meant: Labels, template: bool, language: str) -> list[str]:
    """Return the codes of what concerns one language alone."""
    texts = [published.subject, *published.candidates, *([] if template else [published.prompt])]
    found = {
        "parallel": [normalise(label, language) for label in published.candidates] != list(meant),
        "template": template,
        "invisible_characters": any(find_invisible(text, language) for text in texts),
    }
    return [code for code, is_so in found.items() if is_so]

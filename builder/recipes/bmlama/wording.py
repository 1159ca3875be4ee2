"""The row of a repaired query in one language."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from polyprobe.builder.facts.labels import clean, find_invisible, unmix
from polyprobe.builder.sources.bmlama.queries import REPAIRS, PublishedQuery
from polyprobe.schema.columns import Row


class Wording(NamedTuple):
    """The texts of a query in one language.

    `meant` are the published labels of the entities in English's published candidates, `labels`
    those of the query's candidates, and `original` the same labels before restoration. `template`
    replaces a wrong published template.
    """

    language: str
    meant: Sequence[str]
    labels: Sequence[str]
    original: Sequence[str]
    template: str | None = None


def move_answer(query: PublishedQuery) -> PublishedQuery:
    """Return the query with its answer moved to a position drawn by the hash of its id."""
    others = [name for name in query.candidates if name != query.answer]
    digest = hashlib.sha256(query.fact_id.encode()).digest()
    place = int.from_bytes(digest, "big") % len(query.candidates)
    codes = () if place == len(others) else ("answer_moved",)
    others.insert(place, query.answer)
    return query.repaired(others, *codes)


def write_row(query: PublishedQuery, published: Row, wording: Wording) -> Row:
    """Return the row of a repaired query in one language."""
    subject = clean(published.subject, wording.language)
    prompt = wording.template or clean(published.prompt, wording.language)
    codes = [*query.repairs, *find_codes(published, wording)]
    answer = query.candidates.index(query.answer)
    return Row(
        fact_id=query.fact_id,
        relation=query.relation,
        subject_id=query.subject_id,
        object_id=query.answer,
        subject=subject,
        prompt=prompt.replace("[X]", subject),
        candidates=list(wording.labels),
        candidate_ids=list(query.candidates),
        answers=[answer],
        answer_forms=[wording.labels[answer]],
        template_id=f"polyprobe:{query.relation}" if wording.template else query.relation,
        repairs=sorted(codes, key=list(REPAIRS).index),
        published_row=query.published_row,
    )


def find_codes(published: Row, wording: Wording) -> list[str]:
    """Return the codes of the repairs in this language only."""
    shown = [clean(label, wording.language) for label in published.candidates]
    prompts = [] if wording.template else [published.prompt]
    texts = [published.subject, *published.candidates, *prompts]
    found = {
        "parallel": shown != list(wording.meant),
        "label": list(wording.labels) != list(wording.original),
        "template": bool(wording.template),
        "invisible_characters": any(find_invisible(text, wording.language) for text in texts),
        "mixed_alphabets": any(unmix(text) != text for text in texts),
    }
    return [code for code, is_so in found.items() if is_so]

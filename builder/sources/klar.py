"""KLAR (Wang et al., ACL 2025): facts of BMLAMA-17, each with five questions, in 17 languages.

The repository of Lost in Mistranslation has a copy, a JSON file for each language and relation:
`relation_id`, `prompt_templates` with `<subject>` and `<mask>`, and `samples`. The `index` of a
sample is the row of BMLAMA-17, from 0; `object_candidates` are that row's candidates, joined by
`, `. Chinese is rewritten in simplified characters.

Defects, which are kept:
- Persian and Hebrew have one template of P407 and P740 instead of five, a statement of BMLAMA.
- Persian and Hebrew have 213 further facts (P1001, P30, P1376).
- Rows of P364 and P495 in BMLAMA are asked as P407 and P740.
- 32 templates repeat an earlier one of their relation; a Turkish one names the subject twice.
- A French label is broken ("Genè--ve").
"""

import json
from pathlib import Path
from typing import NamedTuple

from polyprobe.system.download import Repository, read_folders, read_sums
from polyprobe.system.progress import track

LICENCE = "none stated; derived from BMLAMA, which is CC-BY-NC-4.0"
REPOSITORY = Repository(
    name="jvonrad/Lost-in-Mistranslation",
    commit="3ca0eea4944b405eb06b0d786c28efa766d7aeeb",
    sha256=read_sums(__package__, "klar.sha256"),
)
SUBJECT = "<subject>"


class Sample(NamedTuple):
    """A fact: the row of BMLAMA-17 from 0, its subject, object and candidates."""

    row: int
    subject: str
    object: str
    candidates: tuple[str, ...]


class Relation(NamedTuple):
    """The templates and facts of a relation in a language, in the released order."""

    templates: list[str]
    samples: list[Sample]


def read_relations(mirror: Path | None) -> dict[str, dict[str, Relation]]:
    """Return {language: {relation: its templates and facts}}."""
    folders = {Path(folder).name: folder for folder in REPOSITORY.sha256}
    contents = read_folders(REPOSITORY, folders.values(), mirror)
    progress = track(folders, "reading klar")
    return {
        language: dict(map(parse_relation, files.values()))
        for language, files in zip(progress, contents, strict=True)
    }


def parse_relation(content: bytes) -> tuple[str, Relation]:
    """Return the id of a relation, and its templates and facts."""
    data = json.loads(content)
    samples = [
        Sample(x["index"], x["subject"], x["object"], tuple(x["object_candidates"].split(", ")))
        for x in data["samples"]
    ]
    return data["relation_id"], Relation(data["prompt_templates"], samples)

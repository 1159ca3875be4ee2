"""A KLAR of two relations in three languages, as released."""

import hashlib
import json

import pytest

from polyprobe.builder.recipes import klar as recipe
from polyprobe.system.download import Repository
from tests.builder.tiny import pack

NAMES = {
    "en": ("Peru", "Lima", "Chad"),
    "fa": ("پرو", "لیما", "چاد"),
    "fr": ("Pérou", "Lima", "Tchad"),
}


def write_relation(language: str, relation: str, templates: int, rows: list[int]) -> bytes:
    country, city, other = NAMES[language]
    samples = [
        {"index": row, "subject": f"{country} {row}", "object": city,
         "object_candidates": f"{other}, {city}"}
        for row in rows
    ]  # fmt: skip
    asked = [f"{n} <subject>? {language}: <mask>." for n in range(templates)]
    data = {"relation_id": relation, "prompt_templates": asked, "samples": samples}
    return json.dumps(data, ensure_ascii=False).encode()


def write_release() -> dict[str, dict[str, bytes]]:
    """Persian has one template of P407 and a further fact of P36."""
    return {
        f"data/{language}/": {
            "capital.json": write_relation(language, "P36", 5, [7, 3] + [9] * (language == "fa")),
            "language.json": write_relation(language, "P407", 1 if language == "fa" else 5, [0]),
        }
        for language in NAMES
    }


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    release = write_release()
    sums = {}
    for folder, contents in release.items():
        lines = [f"{hashlib.sha256(x).hexdigest()}  {name}\n" for name, x in contents.items()]
        sums[folder] = hashlib.sha256("".join(lines).encode()).hexdigest()
    repository = Repository("some/klar", "0123456789abcdef", sums)
    monkeypatch.setattr(recipe, "REPOSITORY", repository)
    files = {folder + name: x for folder, part in release.items() for name, x in part.items()}
    pack(tmp_path, repository, files)
    return tmp_path

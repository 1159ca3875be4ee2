"""Tiny models, written once and loaded once for each protocol."""

from importlib.resources import files

import pytest

from polyprobe.eval import load_scorer
from tests.eval import tiny


@pytest.fixture(scope="session")
def scorers(tmp_path_factory):
    made = {}

    def get(kind, scoring="bmlama", **options):
        folder = tmp_path_factory.getbasetemp() / f"tiny-{kind}"
        if not folder.exists():
            tiny.save_model(kind, folder)
        key = (kind, scoring, *sorted(options.items()))
        if key not in made:
            made[key] = load_scorer(str(folder), scoring=scoring, **options)
        return made[key]

    return get


@pytest.fixture(scope="module")
def tokenizer():
    """The tokenizer of geolm, new for each module."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(files("polyprobe.scoring.embedded") / "geolm")

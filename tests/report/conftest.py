"""Runs of the small dataset, for tests of pages and pictures."""

import pytest

from tests.making.facts import write_facts
from tests.making.runs import SCORES, write_run


@pytest.fixture
def facts(tmp_path):
    return write_facts(tmp_path / "facts")


@pytest.fixture
def run(tmp_path, facts):
    return write_run(tmp_path / "run", facts, SCORES, scoring="object")


@pytest.fixture
def other(tmp_path, facts):
    return write_run(
        tmp_path / "other", facts, {"en": SCORES["zh_hans"], "ru": SCORES["ru"]}, scoring="object"
    )

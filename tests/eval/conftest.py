"""Facts and models for the tests of the callback."""

from functools import partial

import pytest

from tests.making.facts import write_facts
from tests.making.trainers import save_once


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return str(write_facts(tmp_path_factory.mktemp("facts"), copies=4))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return partial(save_once, tmp_path_factory.mktemp("models"))

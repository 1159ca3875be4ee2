"""The zoo of models, loaded once for all files."""

import pytest


@pytest.fixture(scope="session")
def kinds(tmp_path_factory):
    from tests.scoring.zoo import opener

    return opener(tmp_path_factory.getbasetemp())

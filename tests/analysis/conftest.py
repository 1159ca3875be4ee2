"""Fixtures of several files of this folder."""

import pytest

from tests.making.versions import GENDERS


@pytest.fixture
def gender_file(tmp_path):
    """The genders of the persons of `write_versions`."""
    file = tmp_path / "gender.txt"
    file.write_text("".join(f"Q{i}\t{gender}\n" for i, gender in enumerate(GENDERS)))
    return file

"""The released errors of Polyglot or Not, made small."""

import pytest

from polyprobe.builder.recipes import polyglot as recipe
from tests.conftest import UPSTREAM, build_once

IDS = {"de": ["a", "b", "c", "d", "e"], "en": ["a", "b", "c", "d"], "fr": ["a", "b", "x"]}
HEAD = ("model", "language", "dataset_id")


def write_errors(path, *lines, head=HEAD):
    path.write_text("".join("\t".join(line) + "\n" for line in (head, *lines)), encoding="utf-8")
    return path


ERRORS = UPSTREAM.parent / "oracles" / "polyglot-or-not-errors.zip"


@pytest.fixture(scope="session")
def built(upstream, tmp_path_factory):
    recipe.read_english.cache_clear()
    return build_once("polyglot", upstream, tmp_path_factory)

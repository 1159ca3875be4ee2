"""The released logs of CKA."""

import json
import zipfile

import pytest

from tests.conftest import UPSTREAM

LOGS = UPSTREAM.parent / "oracles" / "polyglot-or-not-logs.zip"


@pytest.fixture(scope="module")
def logs(upstream):
    """From (model, language) to the logged items and the sentence that sums them up."""
    if not LOGS.is_file():
        pytest.skip(f"needs the authors' logs, {LOGS}")
    read = {}
    with zipfile.ZipFile(LOGS) as archive:
        for name in archive.namelist():
            model, file = name.split("/")
            log = json.loads(archive.read(name))
            [items], [summary] = log["score_dict_full"].values(), log["score_dict_summary"].values()
            read[model, file[:2]] = items, summary
    return read

"""The runner with models and datasets by OWNER/NAME, with the stand-in Hub."""

import json

import pytest

from tests.hub.client import run_polyprobe
from tests.making import tiny
from tests.making.facts import write_facts


@pytest.fixture
def served(hub, tmp_path):
    hub.add("model", "me/tiny", tiny.save_model("gpt2", tmp_path / "model"))
    hub.add("dataset", "me/facts", write_facts(tmp_path / "facts"))
    return hub


def call(tmp_path, *more, **where):
    return run_polyprobe(
        "eval", "me/tiny", "--dataset", "me/facts", "--output", "run", *more,
        home=tmp_path / "home", folder=tmp_path, **where,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.acceptance
def test_a_run_by_names_of_the_hub_and_again_offline(served, tmp_path):
    """One run online; then a second from the cache only, which has nothing left to do."""
    first = call(tmp_path, "--languages", "en,zh-hans", endpoint=served.url)
    assert first.returncode == 0, first.stderr
    said = json.loads((tmp_path / "run" / "run.json").read_text())
    assert len(said["revision"]) == 40  # the commit that the Hub named
    assert said["languages"] == ["en", "zh_hans"]
    assert "accuracy" in first.stdout
    before = (tmp_path / "run" / "results.json").read_bytes()
    assert said["config"] == "small"  # its own default
    for named in ([], ["--config", "small"]):
        again = call(tmp_path, "--languages", "en,zh-hans", *named, offline=True)
        assert again.returncode == 0, again.stderr
        assert (tmp_path / "run" / "results.json").read_bytes() == before


@pytest.mark.acceptance
def test_names_that_the_hub_does_not_know(served, tmp_path):
    result = run_polyprobe(
        "eval", "me/none", "--dataset", "me/facts", "--output", "run",
        home=tmp_path / "home", folder=tmp_path, endpoint=served.url,
    )  # fmt: skip
    assert result.returncode == 1
    assert "error: unknown model 'me/none', or the Hub cannot be reached" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.acceptance
def test_a_revision_that_is_not_there_is_named(served, tmp_path):
    result = call(tmp_path, "--revision", "nope", endpoint=served.url)
    assert result.returncode == 1
    assert "error: unknown model 'me/tiny'" in result.stderr
    assert "nope" in result.stderr
    assert "Traceback" not in result.stderr

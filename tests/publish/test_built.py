"""Every dataset that `polyprobe build` makes, here from small archives, can be pushed."""

import pytest

from polyprobe.builder.build import build_balanced, build_dataset, build_own, build_sourced
from polyprobe.builder.recipes import RECIPES, REQUESTED, mubench
from polyprobe.builder.recipes.requests import BalancedRequest, OwnRequest
from polyprobe.publish.install import install_folder
from polyprobe.publish.push import Target, push_folder
from tests.builder.conftest import tiny
from tests.builder.own_facts import CAPITALS as OWN_CAPITALS
from tests.builder.own_facts import HEAD, TEMPLATES
from tests.builder.sentences.phrases import build as build_sentences
from tests.builder.sentences.phrases import phrasebook
from tests.builder.sentences.phrases import tiny as sentences
from tests.builder.tiny_facts import CAPITALS, serve
from tests.builder.tiny_fluent_mlama import mirror as fluent_mlama
from tests.builder.tiny_klar import mirror as klar
from tests.builder.tiny_mpararel import mirror as mpararel
from tests.builder.tiny_mubench import FACTS as MUBENCH_FACTS
from tests.builder.tiny_mubench import write as write_mubench
from tests.builder.tiny_polyglot import GERMAN
from tests.builder.tiny_polyglot import mirror as polyglot
from tests.builder.tiny_repaired import sources as bmlama
from tests.builder.tiny_xfactr import mirror as xfactr
from tests.builder.tiny_xfakt import write_xfakt

__all__ = ["bmlama", "fluent_mlama", "klar", "mpararel", "polyglot", "sentences", "tiny", "xfactr"]
# Of two languages, one has another number of counterfacts in a row.
LONGER = [(*row[:3], "Quito", *row[4:]) if "Quito" in row[3] else row for row in GERMAN]
CONFIGS = {
    "fluent-mlama": ["da", "da-sentence"],
    "klar": ["15", "17"],
    "mpararel": ["en", "fr", "zh-hant"],
    "polyglot": ["de", "en", "parallel"],
    "xfactr": ["en", "fr"],
}


def make_balanced(folder, request):
    serve(request.getfixturevalue("monkeypatch"), "tiny", CAPITALS)
    build_balanced(BalancedRequest("tiny", ("en", "el")), output=folder)


def make_own(folder, request):
    files = {"facts.csv": HEAD + OWN_CAPITALS, "templates.toml": TEMPLATES}
    for name, text in files.items():
        (folder.parent / name).write_text(text, encoding="utf-8")
    build_own(OwnRequest(*(folder.parent / name for name in files)), folder)


def make_mubench(folder, request):
    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(mubench, "read_facts", lambda *_: MUBENCH_FACTS)
    build_sourced("mubench", str(write_mubench(folder.parent / "source")), output=folder)


def make_xfakt(folder, request):
    build_sourced("xfakt", str(write_xfakt(folder.parent / "source")), output=folder)


def make_sentences(folder, request):
    request.getfixturevalue("sentences")
    build_sentences(folder, phrasebook())


def make_recipe(folder, request):
    name = folder.name
    archives = None if name == "geofacts" else request.getfixturevalue(name.replace("-", "_"))
    mirror = archives(LONGER) if name == "polyglot" else archives
    build_dataset(name, CONFIGS.get(name, ()), mirror, folder)


MAKERS = {
    "balanced": make_balanced,
    "mubench": make_mubench,
    "own": make_own,
    "tiny": make_sentences,
    "xfakt": make_xfakt,
}


@pytest.mark.parametrize("name", [*RECIPES, *REQUESTED, "tiny"])
def test_every_dataset_can_be_pushed_and_installed(name, request, tmp_path, monkeypatch):
    folder = tmp_path / "made" / name
    folder.parent.mkdir()
    MAKERS.get(name, make_recipe)(folder, request)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    lines = push_folder(folder, Target(f"me/{name}", True, "main", False), dry_run=True)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.glob("data/*/*.parquet"))
    assert [line.split()[1] for line in lines if ".parquet" in line and "data/" in line] == files
    assert "; nothing was uploaded" in lines[-2]
    assert install_folder(folder).startswith(f"dataset {name} (")

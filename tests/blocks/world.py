"""Environment for running a page: small datasets, a stand-in Hub, an empty cache."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.blocks.pages import ROOT, Step
from tests.hub.client import environment
from tests.hub.messages import Token
from tests.hub.samples import rows
from tests.hub.server import HubServer
from tests.making.datasets import write_dataset

LANGUAGES = ("en", "fr", "es", "ru", "el", "hy", "zh")
DATASETS = {
    "bmlama": ("17-repaired", "53-repaired", "17", "53"),
    "fluent-mlama": ("es", "es-sentence", "vi", "vi-sentence"),
    "polyglot": ("fr",),
    "mpararel": ("en", "is"),
    "klar": ("17-repaired", "15-repaired", "17", "15"),
    "balanced": ("mpararel-3-5t", "xfactr-2-sentence"),
    "xfactr": ("en", "el", "es"),
}
SEVERAL = ("balanced/mpararel-3-5t", "mpararel", "klar")  # with several templates of a fact
MONOLINGUAL = ("fluent-mlama", "mpararel", "polyglot", "xfactr")  # a configuration is a language
CARDS = ("datasets/", "builder/")
MODELS = {
    "bigscience/bloom-560m": "causal",
    "bigscience/bloom-7b1": "causal",
    "meta-llama/Llama-2-7b-chat-hf": "causal",
    "google-bert/bert-base-multilingual-cased": "masked",
}


def write_datasets(folder: Path) -> None:
    """Write small versions of the output of `polyprobe build`: same names, few rows per split."""
    for name, configs in DATASETS.items():
        tables = {}
        for config in configs:
            languages = (config[:2],) if name in MONOLINGUAL else LANGUAGES
            tables[config] = {x: rows(x, 6) for x in languages}
            if name in SEVERAL or f"{name}/{config}" in SEVERAL:
                for made in tables[config].values():
                    made += [x._replace(prompt=f"So {x.prompt}", template_id="2") for x in made]
        write_dataset(folder / name, tables, configs[0], head="license: cc-by-nc-4.0")
    (folder / "geofacts").symlink_to(ROOT / "datasets" / "geofacts")


def make_world(folder: Path, hub: HubServer, model: Path) -> Path:
    """Fill a folder like a checkout with built datasets; serve the datasets of the Hub.

    The reader is logged in as OWNER.
    """
    hub.repositories.clear()
    hub.tokens["hf_reader"] = Token("OWNER")
    folder.mkdir()
    write_datasets(folder / "datasets")
    for name in ("docs", "metrics"):
        (folder / name).symlink_to(ROOT / name)
    tiny = {"causal": model, "masked": ROOT / "tests" / "data" / "models" / "masked"}
    for name, family in MODELS.items():
        hub.add("model", name, tiny[family])
    return folder


class Readers:
    """A process that runs pages, each with an empty home, with one stand-in Hub."""

    def __init__(self, folder: Path, hub: HubServer, model: Path) -> None:
        self.folder, self.hub, self.count = folder, hub, 0
        self.model = model
        if (ROOT.parent / "shared").is_dir():  # read by pages next to the checkout
            (folder / "shared").symlink_to(ROOT.parent / "shared")
        command = [sys.executable, str(ROOT / "tests" / "blocks" / "run_page.py")]
        self.process = subprocess.Popen(
            command,
            env=environment(folder / "now", hub.url),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, page: str, steps: Sequence[Step]) -> list[str]:
        """Run steps in a new environment, those of a card in ./datasets; return their output."""
        self.count += 1
        world, home = (self.folder / f"{name}{self.count}" for name in ("world", "home"))
        make_world(world, self.hub, self.model)
        (home / "huggingface").mkdir(parents=True)
        (home / "huggingface" / "token").write_text("hf_reader")  # as written by `hf auth login`
        job = {
            "steps": [[step.kind, step.text, step.block.place] for step in steps],
            "folder": str(world / "datasets" if page.startswith(CARDS) else world),
            "home": str(home),
        }
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"][-3000:]
        return answer["printed"]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

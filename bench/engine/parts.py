"""Run the parts of the engine benchmark, save their figures, and write the page."""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from bench.servers import PYTHON
from bench.smollm2 import fetch_model

from . import contexts, equality, floor, growth, memory, prepare, report
from .models import Setting, Sources, build_bmlama, make_model, take_sentences, train_unigram
from .race import ENTRIES, list_models, time_part

RUNS = Path("runs")
RESULTS = RUNS / "engine"
# {part: (models, function)}
PARTS: dict[str, tuple[list[str], Callable[[Setting, Callable[[str], None]], Any]]] = {
    **{
        part: (list_models(part), lambda s, say, part=part: time_part(part, s, say))
        for part in ENTRIES
    },
    "contexts": ([contexts.MODEL], contexts.measure),
    "floor": (floor.MODELS, floor.measure),
    "prepare": (equality.MODELS, prepare.measure),
    "equality": (equality.MODELS, equality.measure),
    "memory": (["decoder"], memory.measure),
    "growth": (growth.MODELS, growth.measure),
}


def main(argv: Sequence[str]) -> None:
    """Create missing inputs, run the parts, write figures and tables."""
    asked = parse(argv)
    results = RESULTS / "trial" if asked.rows else RESULTS
    results.mkdir(parents=True, exist_ok=True)
    setting = Setting(
        dataset=build_bmlama(RUNS / "bmlama", asked.mirror),
        models=RESULTS / "models",
        logs=results / "logs",
        peers=asked.peers,
        servers=asked.servers,
        rows=asked.rows,
        rounds=asked.rounds,
        threads=asked.threads,
    )
    say = print if asked.profile else lambda text: None
    for part in asked.only or PARTS:
        begin = time.time()
        models, run = PARTS[part]
        make_models(models, setting)
        found = {
            "machine": report.describe_machine(setting),
            "date": str(date.today()),
            "found": run(setting, say),
        }
        (results / f"{part}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(f"{part}: {time.time() - begin:.0f} s", flush=True)
    report.write(results, (results if asked.rows else Path(__file__).parent) / "README.md")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m bench engine", description=__doc__)
    parser.add_argument("--peers", type=Path, help="an interpreter with lm-eval and lm-pub-quiz")
    parser.add_argument(
        "--servers",
        type=Path,
        default=PYTHON if PYTHON.exists() else None,
        help="an interpreter with vLLM and llama.cpp (default: that of `make servers`)",
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="part to run; repeatable")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="rows per language, for a trial")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mirror", type=Path, help="a folder with the upstream archives")
    parser.add_argument("--profile", action="store_true", help="print our time by operator")
    return parser.parse_args(argv)


def make_models(names: list[str], setting: Setting) -> None:
    """Write missing models, and the tokenizer that most of them share."""
    missing = [name for name in names if not (setting.models / name).exists()]
    if not missing:
        return
    setting.models.mkdir(parents=True, exist_ok=True)
    sources = Sources(fetch_model(RUNS), setting.models / "unigram.json")
    if not sources.unigram.exists():
        train_unigram(take_sentences(setting.dataset), sources.unigram)
    for name in missing:
        make_model(name, setting.models / name, sources)

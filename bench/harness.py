"""Compare polyprobe's accuracy with that of exported tasks in lm-eval and lighteval, row by row.

Run `python -m bench harness` with the harnesses in .harness (`make harness`), or with their Pythons
in POLYPROBE_LM_EVAL and POLYPROBE_LIGHTEVAL. It prints the page and writes it to bench/harness.md.
SmolLM2 is read from runs/engine/models/decoder and BMLAMA from datasets/bmlama; if one is missing,
so is that half of the page. Every difference is divided into protocol steps that polyprobe performs
itself, until log-probabilities and the credit of every row equal the harness's. If they never do,
the script ends with an error.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from polyprobe.metrics.accuracy_at_1.formulas import right_probability
from polyprobe.schema.run.rows import choose_rows

from .harness_chains import Case, Chain, follow_objects, follow_sentences
from .harness_peers import ROOT
from .harness_replay import Lists

SAMPLE = 40
CLOSE = 2e-3  # nats, of a whole sentence: both sides sum float32
HEAD = """\
# Exported tasks in lm-eval 0.4.13 and lighteval 0.13.0

Written by `python -m bench harness`. The first table of each part compares accuracy on the same
model and rows: by `polyprobe eval`, and by the harnesses' own commands on the tasks written by
`polyprobe export`. The second table leads from polyprobe's protocol to the harness's metric in
single steps, and counts the rows of each language whose credit changes at each step. polyprobe
performs the steps itself. After the last step the credit of all rows is equal, and the
log-probabilities differ by at most the last column.

- BOS before all: `--bos always` instead of `--bos auto`. The tokenizer itself adds no BOS.
- sum over tokens: polyprobe's score times its number of tokens.
- by code points: that sum divided by the length of the sentence.
- first word not scored: the task for tokenizers without BOS. lighteval tokenizes the first word and
  the rest separately and scores the rest.
- boundary: lm-eval tokenizes prompt and candidate as one text, lighteval separately, as polyprobe.
- ties: the credit of the first of the tied best candidates instead of the share of correct ones.
"""


def main(argv: Sequence[str] = ()) -> None:
    """Run and check all cases, write the page."""
    with tempfile.TemporaryDirectory() as name:
        text = HEAD + "".join(compare(case, Path(name)) for case in find_cases(Path(name)))
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def find_cases(work: Path) -> list[Case]:
    """Return the cases whose data is present, with models copied or linked into `work`."""
    geolm = Path(shutil.copytree(ROOT / "scoring/embedded/geolm", work / "geolm"))
    languages = ["en", "de", "ja", "th"]
    cases = [Case("geolm, geofacts", geolm, ROOT / "datasets/geofacts", languages, True)]
    smollm2, bmlama = ROOT / "runs/engine/models/decoder", ROOT / "datasets/bmlama"
    if smollm2.is_dir() and (bmlama / "data/17").is_dir():
        (work / "smollm2").symlink_to(smollm2)
        languages = ["en", "fr", "zh"]
        sample = take_sample(bmlama, languages, work / "bmlama")
        title = "SmolLM2-135M-Instruct, a sample of BMLAMA-17"
        cases.append(Case(title, work / "smollm2", sample, languages, False))
    else:
        print("SmolLM2 or BMLAMA-17 not found; its part is excluded", file=sys.stderr)
    return cases


def take_sample(dataset: Path, languages: Sequence[str], folder: Path) -> Path:
    """Write the rows of BMLAMA-17 that `polyprobe eval --sample` selects, as a dataset."""
    (folder / "data").mkdir(parents=True)
    splits = ""
    for language in languages:
        table = pq.read_table(dataset / "data" / "17" / f"{language}.parquet")
        chosen = table.take(choose_rows(table, sample=SAMPLE))
        pq.write_table(chosen, folder / "data" / f"{language}.parquet")
        splits += f"  - split: {language}\n    path: data/{language}.parquet\n"
    card = f"---\nconfigs:\n- config_name: '17'\n  data_files:\n{splits}---\n"
    (folder / "README.md").write_text(card, encoding="utf-8")
    return folder


def compare(case: Case, work: Path) -> str:
    """Return a case's part of the page; ValueError for an unexplained row."""
    answers = {
        x: pq.read_table(next(case.dataset.rglob(f"{x}.parquet")))["answers"].to_pylist()
        for x in case.languages
    }
    figures: dict[str, list[str]] = {}
    ways = []
    for chain in (*follow_sentences(case, work), *follow_objects(case, work)):
        credits = [credit(step.scores, answers) for step in chain.steps]
        last = credit(chain.steps[-1].scores, answers, "released")
        check(chain, last)
        for step, one in zip(chain.steps, credits, strict=True):
            if step.name in ("polyprobe bmlama", "polyprobe object", "BOS before all"):
                figures[step.name.replace("BOS before all", "polyprobe bmlama, --bos always")] = (
                    average(one)
                )
        figures[chain.said] = average(chain.credit)
        names = [*(step.name for step in chain.steps[1:]), "ties"]
        moves = zip(names, pairwise([*credits, last]), strict=True)
        told = "; ".join(f"{name}: {count(*pair)}" for name, pair in moves)
        ways.append([chain.steps[0].name, chain.said, told, f"{chain.apart:.0e}"])
    rows = len(answers[case.languages[0]])
    return (
        f"\n## {case.title}: {rows} rows per language\n\n"
        + tabulate(["", *case.languages, "mean"], [[k, *v] for k, v in figures.items()])
        + "\n"
        + tabulate(
            ["from", "to", f"rows that change ({', '.join(case.languages)})", "difference, nats"],
            ways,
        )
    )


def credit(
    scores: Lists, answers: dict[str, list[list[int]]], ties: str = "expected"
) -> dict[str, np.ndarray]:
    """Return the credit of each row, by language."""
    return {x: right_probability(scores[x], answers[x], ties) for x in answers}


def check(chain: Chain, ours: dict[str, np.ndarray]) -> None:
    """Raise ValueError unless the last step equals the harness's result in every row."""
    other = {x: np.flatnonzero(ours[x] != chain.credit[x]).tolist() for x in ours}
    if chain.apart > CLOSE or any(other.values()):
        raise ValueError(f"{chain.said} is not explained: {chain.apart} nats, rows {other}")


def average(credits: dict[str, np.ndarray]) -> list[str]:
    """Return the accuracy of each language and their mean."""
    values = [float(one.mean()) for one in credits.values()]
    return [f"{value:.3f}" for value in (*values, sum(values) / len(values))]


def count(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> str:
    """Return the number of rows whose credit differs, for each language."""
    return ", ".join(str(int((before[x] != after[x]).sum())) for x in before)


def tabulate(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

"""Run exported tasks with the harnesses' own commands, and read their results for each choice."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
PYTHONS = {"lm-eval": "POLYPROBE_LM_EVAL", "lighteval": "POLYPROBE_LIGHTEVAL"}


class Answer(NamedTuple):
    """A row as scored by a harness.

    Attributes:
        context: text before the choices.
        choices: the scored texts.
        sums: the log-probability of each choice, in nats.
        credit: {metric: 1 if the harness counts the row as correct, else 0}.
    """

    context: str
    choices: list[str]
    sums: list[float]
    credit: dict[str, float]


Answers = dict[str, list[Answer]]
"""By language, in the order of the dataset."""


def find_python(harness: str) -> Path:
    """Return the path of the Python in which a harness is installed."""
    named = os.environ.get(PYTHONS[harness])
    return Path(named) if named else ROOT / ".harness" / harness / "bin" / "python"


def run_lm_eval(tasks: Path, stem: str, model: Path, languages: Sequence[str]) -> Answers:
    """Return the answers to a group's tasks."""
    output = tasks / "answers"
    command = ["-m", "lm_eval", "run", "--model", "hf", "--device", "cpu", "--batch_size", "32"]
    command += ["--model_args", f"pretrained={model},dtype=float32", "--include_path", str(tasks)]
    command += ["--tasks", stem, "--output_path", str(output), "--log_samples"]
    call("lm-eval", command, tasks)
    return {x: read_lm_eval(next(output.rglob(f"samples_{stem}_{x}_*.jsonl"))) for x in languages}


def read_lm_eval(file: Path) -> list[Answer]:
    """Return the answers in a task's log, in the order of the dataset."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    answers = {}
    for row in rows:
        asked = row["arguments"]
        texts = [asked[f"gen_args_{k}"] for k in range(len(asked))]
        answers[row["doc_id"]] = Answer(
            texts[0]["arg_0"],
            [text["arg_1"] for text in texts],
            [float(response[0]) for response in row["filtered_resps"]],
            {metric: row[metric] for metric in row["metrics"]},
        )
    return [answers[number] for number in range(len(answers))]


def run_lighteval(tasks: Path, stem: str, model: Path, languages: Sequence[str]) -> Answers:
    """Return the answers to a file's tasks, or to its tasks without BOS.

    The model's path is relative to the working folder: with an absolute path, lighteval would put
    its cache into the model's folder.
    """
    own = f"model_name={model.name},dtype=float32,batch_size=32,override_chat_template=False"
    command = ["-m", "lighteval", "accelerate", f"{own},cache_dir={tasks / 'cache'}", stem]
    command += ["--custom-tasks", str(tasks / f"{stem.removesuffix('_no_bos')}.py")]
    output = tasks / f"answers-{stem}"
    call("lighteval", [*command, "--output-dir", str(output), "--save-details"], model.parent)
    return {
        x: read_lighteval(next(output.rglob(f"details_{stem}:{x}|0_*.parquet"))) for x in languages
    }


def read_lighteval(file: Path) -> list[Answer]:
    """Return the answers in a task's details, in the order of the dataset."""
    answers = {}
    for row in pq.read_table(file).to_pylist():
        doc, n = row["doc"], row["doc"]["specific"]["n_choices"]
        sums = row["model_response"]["logprobs"][:n]
        answers[int(doc["id"])] = Answer(doc["query"], doc["choices"][:n], sums, row["metric"])
    return [answers[number] for number in range(len(answers))]


def call(harness: str, arguments: Sequence[str], folder: Path) -> None:
    """Run a harness without a network; RuntimeError with its output if it fails."""
    own = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [find_python(harness), *arguments],
        cwd=folder,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{harness} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")

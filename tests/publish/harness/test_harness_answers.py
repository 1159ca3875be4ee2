"""Free answers that lm-eval let geolm write are judged as those of `polyprobe eval`."""

import json
import shutil
from pathlib import Path

import pytest

from polyprobe.eval import evaluate_model, judge_answers
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import as_asked
from tests.publish.harness.harness_rows import load_module

ROOT = Path(__file__).parents[3]
PEERS = load_module(ROOT / "bench" / "harness_peers.py")
LANGUAGES, N = ["en", "es"], 8
TASK = """
task: answers_{x}
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{file}"}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: ""
generation_kwargs: {{until: ["\\n"], max_gen_toks: {n}, do_sample: false, temperature: 0.0}}
metric_list: [{{metric: exact_match}}]
"""
pytestmark = [pytest.mark.slow, pytest.mark.acceptance]


def test_samples_of_lm_eval_are_judged(tmp_path):
    model = shutil.copytree(ROOT / "scoring/embedded/geolm", tmp_path / "geolm")
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    tables = as_asked(load_facts("geofacts", None, LANGUAGES), "answer")
    for language, table in tables.items():
        rows = table.slice(0, 24).to_pylist()
        file = tasks / f"{language}.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for row in rows:
                question = row["prompt"].removesuffix("[Y]").rstrip()
                line = {"fact_id": row["fact_id"], "question": question}
                lines.write(json.dumps({**line, "question_of_model": question}) + "\n")
        text = TASK.format(x=language, file=file, n=N)
        (tasks / f"answers_{language}.yaml").write_text(text, encoding="utf-8")
    command = ["-m", "lm_eval", "run", "--model", "hf", "--device", "cpu", "--batch_size", "8"]
    command += ["--model_args", f"pretrained={model},dtype=float32", "--include_path", str(tasks)]
    command += ["--tasks", "answers_en,answers_es", "--log_samples"]
    PEERS.call("lm-eval", [*command, "--output_path", str(tmp_path / "answers")], tasks)
    samples = [*(tmp_path / "answers").rglob("samples_*.jsonl")]
    assert len(samples) == 2
    options = {"languages": LANGUAGES, "limit": 24, "exclude": "none"}
    judge_answers(samples, "geofacts", output=tmp_path / "judged", **options)
    options |= {"scoring": "answer", "answer_tokens": N, "cache": False}
    evaluate_model("geolm", "geofacts", output=tmp_path / "own", **options)
    for language in LANGUAGES:
        judged, own = (Run(tmp_path / x).read(language).to_pylist() for x in ("judged", "own"))
        for ours, theirs in zip(own, judged, strict=True):
            assert theirs["answer"].strip() == ours["answer"]
            for name in ("fact_id", "asked", "verdict", "entity", "scores"):
                assert theirs[name] == ours[name], name
        assert len({row["answer"] for row in own}) > 3

"""Tasks of lm-evaluation-harness: a group, what its tasks share, and a task a language."""

from collections.abc import Mapping
from typing import Any

import yaml

from polyprobe import __version__
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .configuration import Configuration

HARNESS = "lm-eval 0.4.13"
METRICS = ("acc", "acc_norm", "acc_bytes")
# What Jinja makes of a row; a choice is read back from the list's Python literal.
SENTENCES = (
    "{% set made = namespace(choices=[]) %}"
    "{% for candidate in candidates %}"
    f"{{% set made.choices = made.choices + [prompt.replace('{SLOT}', candidate)] %}}"
    "{% endfor %}"
    "{{ made.choices }}"
)
ASKED: dict[str, dict[str, str]] = {
    "bmlama": {"doc_to_text": "", "doc_to_choice": SENTENCES},
    "object": {
        "doc_to_text": f"{{{{ prompt.split('{SLOT}')[0] }}}}",
        "doc_to_choice": "candidates",
    },
}
PROTOCOLS = {
    "bmlama": """\
Asked: `polyprobe eval --scoring bmlama` of a causal model (BMLAMA, equation 10). A candidate's
score is the mean log-probability of the tokens of the whole sentence with the candidate in its
slot. Here the context is empty and each choice is such a sentence.

What differs:
- Length. lm-eval has no mean over tokens. acc takes the best sum over the sentence's tokens;
  acc_norm divides the sum by the sentence's code points, acc_bytes by its UTF-8 bytes.
- BOS. Before an empty context lm-eval puts the BOS token, or EOS where the tokenizer has no BOS,
  and scores every token of the sentence: `--bos always`. `--bos auto` does as the tokenizer does;
  without a BOS the sentence's first token is not scored.
- EOS. One that the tokenizer appends is scored by polyprobe, not here.""",
    "object": """\
Asked: `polyprobe eval --scoring object` of a causal model (Fluent-mLAMA): a candidate's score is
the sum of the log-probabilities of its own tokens behind the prompt. Here the context is the prompt
up to its slot and the candidates are the choices. Text behind the slot is not seen, as in
polyprobe. acc stands for `object`, acc_norm for `object-characters`, acc_bytes for `object-bytes`;
lm-eval has no `object-tokens`.

What differs:
- The boundary. lm-eval moves blanks at the end of the context to the choice and tokenizes context
  and choice as one text; polyprobe leaves the blank with the prompt and tokenizes the candidate
  alone. So tokens and scores differ wherever a blank stands before the slot, and in scripts without
  blanks wherever a token reaches over the boundary.
- BOS. The context has the special tokens that are the tokenizer's own, `--bos auto` (BLOOM, to
  which polyprobe adds a BOS, has none here). Where nothing stands before the slot the context is
  the BOS token, or EOS where the tokenizer has no BOS; polyprobe refuses such rows where no BOS is
  added.""",
}
COMMON = """\
- Ties. The first of several best choices is taken; polyprobe counts the share of right ones among
  them. Equal candidates of a row tie always.
- Length limits. Texts longer than the model reads are cut; polyprobe refuses them.
- Other models. An encoder or encoder-decoder is not scored here as polyprobe scores it.
A row with several right answers counts where the best choice is one of them, as in polyprobe. The
group's figure is the unweighted mean over its languages, polyprobe's `mean`."""


def render_lm_eval(configuration: Configuration, scoring: str) -> dict[str, str]:
    """Return the texts of the group, the shared part and the tasks by file name."""
    if scoring == "object":
        check_prefixes(configuration)
    stem = configuration.stem(scoring)
    tasks = {language: f"{stem}_{language}" for language in configuration.files}
    return {
        f"{stem}.yaml": render_group(configuration, scoring, list(tasks.values())),
        f"_{stem}_yaml": dump(describe_shared(configuration, scoring)),
        **{
            f"{task}.yaml": dump(describe_task(configuration, f"_{stem}_yaml", task, language))
            for language, task in tasks.items()
        },
    }


def check_prefixes(configuration: Configuration) -> None:
    """Refuse prompts with digits alone before the slot: lm-eval reads them as a choice's number."""
    for language, prefixes in configuration.prefixes.items():
        for row, prefix in enumerate(prefixes):
            if prefix.isdigit():
                raise PolyprobeError(
                    f"language '{language}', row {row}: {prefix!r} alone before the slot is no "
                    "text to lm-eval; leave the language out or use --scoring bmlama"
                )


def render_group(configuration: Configuration, scoring: str, tasks: list[str]) -> str:
    """Return the group's file: what is asked and what differs, as a comment, and the tasks."""
    stem = configuration.stem(scoring)
    head = f"""\
{configuration.title}, Parquet files {configuration.fingerprint}; made for {HARNESS} by
`polyprobe export --format lm-eval --scoring {scoring}` (polyprobe {__version__}). In this folder:
lm_eval run --model hf --model_args pretrained=MODEL --include_path . --tasks {stem}

{PROTOCOLS[scoring]}
{COMMON}"""
    group = {
        "group": stem,
        "task": tasks,
        "aggregate_metric_list": [
            {"metric": metric, "aggregation": "mean", "weight_by_size": False} for metric in METRICS
        ],
        "metadata": {"version": 1.0},
    }
    return "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines()) + dump(group)


def describe_shared(configuration: Configuration, scoring: str) -> dict[str, Any]:
    """Return what all tasks have in common."""
    hub = {"dataset_path": configuration.dataset_id, "dataset_name": configuration.name}
    return {
        **(hub if configuration.dataset_id else {"dataset_path": "parquet"}),
        "output_type": "multiple_choice",
        "num_fewshot": 0,
        **ASKED[scoring],
        "doc_to_target": "answers",
        "target_delimiter": "",
        "metric_list": [
            {"metric": metric, "aggregation": "mean", "higher_is_better": True}
            for metric in METRICS
        ],
        "metadata": {"version": 1.0, "fingerprint": configuration.fingerprint},
    }


def describe_task(
    configuration: Configuration, shared: str, task: str, language: str
) -> dict[str, Any]:
    """Return the task of a language."""
    files = {"data_files": {language: list(configuration.files[language])}}
    return {
        "include": shared,
        "task": task,
        "test_split": language,
        **({} if configuration.dataset_id else {"dataset_kwargs": files}),
    }


def dump(content: Mapping[str, Any]) -> str:
    """Return YAML in the order given."""
    return yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=10**6)

"""Tasks of lm-evaluation-harness: a group, a shared part, and one task for each language."""

from typing import Any

from polyprobe import __version__
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .configuration import Configuration, to_yaml

HARNESS = "lm-eval 0.4.13"
METRICS = ("acc", "acc_norm", "acc_bytes")
# A Jinja template; lm-eval reads the choices from its output, the Python literal of a list.
SENTENCES = (
    "{% set made = namespace(choices=[]) %}"
    "{% for candidate in candidates %}"
    f"{{% set made.choices = made.choices + [prompt.replace('{SLOT}', candidate)] %}}"
    "{% endfor %}"
    "{{ made.choices }}"
)
FIELDS: dict[str, dict[str, str]] = {
    "bmlama": {"doc_to_text": "", "doc_to_choice": SENTENCES},
    "object": {
        "doc_to_text": f"{{{{ prompt.split('{SLOT}')[0] }}}}",
        "doc_to_choice": "candidates",
    },
}
PROTOCOLS = {
    "bmlama": """\
Protocol: `polyprobe eval --scoring bmlama` of a causal model (BMLAMA, equation 10). The score of a
candidate is the mean log-probability of the tokens of the whole sentence with the candidate in its
slot. Here the context is empty and each choice is such a sentence.

Differences from polyprobe:
- Length. lm-eval has no mean over tokens. acc takes the best sum over the sentence's tokens;
  acc_norm divides the sum by the sentence's code points, acc_bytes by its UTF-8 bytes.
- BOS. Before an empty context lm-eval puts the BOS token, or EOS if the tokenizer has no BOS,
  and scores every token of the sentence: `--bos always`. `--bos auto` follows the tokenizer;
  without a BOS the sentence's first token is not scored.
- EOS. polyprobe scores an EOS that the tokenizer appends, lm-eval does not.""",
    "object": """\
Protocol: `polyprobe eval --scoring object` of a causal model (Fluent-mLAMA). The score of a
candidate is the sum of the log-probabilities of its own tokens after the prompt. Here the context
is the prompt up to its slot and the candidates are the choices. As in polyprobe, text after the
slot is ignored. acc is `object`, acc_norm `object-characters`, acc_bytes `object-bytes`; lm-eval
has no `object-tokens`.

Differences from polyprobe:
- The boundary. lm-eval moves spaces at the end of the context to the choice and tokenizes context
  and choice as one text; polyprobe leaves the space with the prompt and tokenizes the candidate
  alone. So tokens and scores differ if there is a space before the slot, and in scripts without
  spaces if a token spans the boundary.
- BOS. The context has the tokenizer's own special tokens, `--bos auto` (polyprobe adds a BOS for
  BLOOM, lm-eval does not). If there is nothing before the slot the context is the BOS token, or
  EOS if the tokenizer has no BOS; polyprobe refuses such rows if no BOS is added.""",
}
COMMON = """\
- Ties. The first of several best choices is taken; polyprobe counts the share of correct ones among
  them. Equal candidates of a row always tie.
- Length limits. Texts longer than the model's limit are cut; polyprobe refuses them.
- Other models. Encoders and encoder-decoders are not scored here as in polyprobe.
As in polyprobe, a row with several answers is correct if the best choice is one of them. The
figure of the group is the unweighted mean over its languages, polyprobe's `mean`."""


def render_lm_eval(configuration: Configuration, scoring: str) -> dict[str, str]:
    """Return {file name: text} of the group, the shared part and the tasks."""
    if scoring == "object":
        check_prefixes(configuration)
    stem = configuration.stem(scoring)
    tasks = {language: f"{stem}_{language}" for language in configuration.files}
    return {
        f"{stem}.yaml": render_group(configuration, scoring, list(tasks.values())),
        f"_{stem}_yaml": to_yaml(describe_shared(configuration, scoring)),
        **{
            f"{task}.yaml": to_yaml(describe_task(configuration, f"_{stem}_yaml", task, language))
            for language, task in tasks.items()
        },
    }


def check_prefixes(configuration: Configuration) -> None:
    """Refuse prompts with only digits before the slot: lm-eval reads them as a choice's number."""
    for language, prefixes in configuration.prefixes.items():
        for row, prefix in enumerate(prefixes):
            if prefix.isdigit():
                raise PolyprobeError(
                    f"language '{language}', row {row}: lm-eval reads {prefix!r} alone before the "
                    "slot as a number; leave the language out or use --scoring bmlama"
                )


def render_group(configuration: Configuration, scoring: str, tasks: list[str]) -> str:
    """Return the group's file: protocol and differences as a comment, and the tasks."""
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
    return "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines()) + to_yaml(group)


def describe_shared(configuration: Configuration, scoring: str) -> dict[str, Any]:
    """Return the fields that all tasks share."""
    hub = {"dataset_path": configuration.dataset_id, "dataset_name": configuration.name}
    return {
        **(hub if configuration.dataset_id else {"dataset_path": "parquet"}),
        "output_type": "multiple_choice",
        "num_fewshot": 0,
        **FIELDS[scoring],
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

"""Tasks of lm-evaluation-harness: a group, a shared part, and one task for each language."""

from polyprobe.schema.columns import SLOT
from polyprobe.system.messages import PolyprobeError

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


def render_lm_eval(configuration: Configuration, donors: Configuration | None) -> dict[str, str]:
    """Write the groups, their shared parts and tasks: {file name: text}."""
    tasks = render_part(configuration, donors)
    return tasks | (render_part(donors) if donors else {})


def render_part(
    configuration: Configuration, donors: Configuration | None = None
) -> dict[str, str]:
    """Write a group, the shared part and the tasks: {file name: text}."""
    if configuration.scoring == "object":
        check_prefixes(configuration)
    stem = configuration.stem
    tasks = {language: f"{stem}_{language}" for language in configuration.files}
    hub = {"dataset_path": configuration.dataset_id, "dataset_name": configuration.name}
    mean = {"aggregation": "mean", "higher_is_better": True}
    texts = {
        f"{stem}.yaml": render_group(configuration, list(tasks.values()), donors),
        f"_{stem}_yaml": to_yaml(
            {
                **(hub if configuration.dataset_id else {"dataset_path": "parquet"}),
                "output_type": "multiple_choice",
                "num_fewshot": 0,
                **FIELDS[configuration.scoring],
                "doc_to_target": "answers",
                "target_delimiter": "",
                "metric_list": [{"metric": metric, **mean} for metric in METRICS],
                "metadata": {"version": 1.0, "fingerprint": configuration.fingerprint},
            }
        ),
    }
    for language, task in tasks.items():
        content = {"include": f"_{stem}_yaml", "task": task, "test_split": language}
        paths = {"data_files": {language: list(configuration.files[language])}}
        local = {} if configuration.dataset_id else {"dataset_kwargs": paths}
        texts[f"{task}.yaml"] = to_yaml({**content, **local})
    return texts


def check_prefixes(configuration: Configuration) -> None:
    """Refuse prompts with only digits before the slot: lm-eval reads them as a choice's number."""
    for language, prefixes in configuration.prefixes.items():
        for row, prefix in enumerate(prefixes):
            if prefix.isdigit():
                raise PolyprobeError(
                    f"language '{language}', row {row}: lm-eval reads {prefix!r} alone before the "
                    "slot as a number; leave the language out or use --scoring bmlama"
                )


def render_group(
    configuration: Configuration, tasks: list[str], donors: Configuration | None
) -> str:
    """Write the group's file: protocol and differences as a comment, and the tasks."""
    head = configuration.fill("lm_eval_head.txt", harness=HARNESS, donors=donors)
    mean = {"aggregation": "mean", "weight_by_size": False}
    group = {
        "group": configuration.stem,
        "task": tasks,
        "aggregate_metric_list": [{"metric": metric, **mean} for metric in METRICS],
        "metadata": {"version": 1.0},
    }
    return "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines()) + to_yaml(group)

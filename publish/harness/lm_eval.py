"""Tasks of lm-evaluation-harness: a group, a shared part, and one task for each language."""

from polyprobe.system.files import read_toml
from polyprobe.system.messages import PolyprobeError

from .configuration import Configuration, to_yaml

HARNESS = "lm-eval 0.4.13"
FORMS = read_toml(__package__, "lm_eval.toml")


def render_lm_eval(
    configuration: Configuration, donors: Configuration | None = None
) -> dict[str, str]:
    """Write the groups, their shared parts and tasks: {file name: text}."""
    if configuration.scoring == "object":
        check_prefixes(configuration)
    stem = configuration.stem
    tasks = {language: f"{stem}_{language}" for language in configuration.files}
    hub = {"dataset_path": configuration.dataset_id, "dataset_name": configuration.name}
    shared = {
        **(hub if configuration.dataset_id else {"dataset_path": "parquet"}),
        **FORMS["bmlama"],
        **FORMS[configuration.scoring],
        "metadata": {"version": 1.0, "fingerprint": configuration.fingerprint},
    }
    texts = {
        f"{stem}.yaml": render_group(configuration, list(tasks.values()), donors),
        f"_{stem}_yaml": to_yaml(shared),
    }
    for language, task in tasks.items():
        content = {"include": f"_{stem}_yaml", "task": task, "test_split": language}
        paths = {"data_files": {language: list(configuration.files[language])}}
        local = {} if configuration.dataset_id else {"dataset_kwargs": paths}
        texts[f"{task}.yaml"] = to_yaml({**content, **local})
    return texts | (render_lm_eval(donors) if donors else {})


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
    group = {"group": configuration.stem, "task": tasks, **FORMS["group"]}
    return "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines()) + to_yaml(group)

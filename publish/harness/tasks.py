"""Tasks of lm-eval (a group, a shared part, one for each language) and of lighteval (one file)."""

import json
from pprint import pformat

from polyprobe.schema.columns import SLOT
from polyprobe.system.files import read_toml
from polyprobe.system.messages import PolyprobeError

from .configuration import DATA, Configuration, to_yaml

LM_EVAL, LIGHTEVAL = "lm-eval 0.4.13", "lighteval 0.13.0"
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
    head = configuration.fill("lm_eval_head.txt", harness=LM_EVAL, donors=donors)
    group = {"group": configuration.stem, "task": tasks, **FORMS["group"]}
    return "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines()) + to_yaml(group)


def render_lighteval(configuration: Configuration, donors: Configuration | None) -> dict[str, str]:
    """Write the Python file for `--custom-tasks` and cards for local data: {file name: text}."""
    stem = configuration.stem
    # Without a BOS a prompt that begins with the slot gives its choices no context.
    counts = {x: sum(not y.strip() for y in ys) for x, ys in configuration.prefixes.items()}
    code = configuration.fill(
        "lighteval_tasks.txt",
        harness=LIGHTEVAL,
        task=f"{stem}:{next(iter(configuration.files))}",
        languages=configuration.files,
        listed=pformat(list(configuration.files), width=90, compact=True),
        unprefixed={language: count for language, count in counts.items() if count},
        repository=express_place(configuration),
        config=configuration.name,
        number=int(configuration.fingerprint[:7], 16),
        donors=donors,
        donor_repository=donors and express_place(donors),
        donor_number=donors and int(donors.fingerprint[:7], 16),
        slot=SLOT,
    )
    local = [part for part in (configuration, donors) if part and not part.dataset_id]
    cards = {f"{part.stem}{DATA}/README.md": render_data_card(part) for part in local}
    return {f"{stem}.py": code, **cards}


def express_place(part: Configuration) -> str:
    """Return the expression of the tasks' dataset: a name on the Hub, else a folder beside."""
    local = f'str(Path(__file__).resolve().parent / "{part.stem}{DATA}")'
    return json.dumps(part.dataset_id) if part.dataset_id else local


def render_data_card(configuration: Configuration) -> str:
    """Write a card that names the files."""
    # `datasets` 5.2 caches a folder by the configurations in its card only. With the fingerprint
    # in the card it reads changed files again.
    config = {
        "config_name": configuration.name,
        "description": f"Parquet files {configuration.fingerprint}",
        "data_files": [{"split": x, "path": list(y)} for x, y in configuration.files.items()],
    }
    head = to_yaml({"configs": [config]})
    return f"---\n{head}---\n\nThe tasks load {configuration.title} by this card.\n"

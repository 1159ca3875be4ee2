"""Tasks of lighteval: one Python file, and for local data a card that names the files."""

import json
from pprint import pformat

from polyprobe.schema.columns import SLOT

from .configuration import Configuration, to_yaml

HARNESS = "lighteval 0.13.0"
# Suffix of the data folder. The stem of the tasks has no dot: lighteval opens a task whose name is
# also a path as a list of tasks.
DATA = ".data"


def render_lighteval(configuration: Configuration) -> dict[str, str]:
    """Write the Python file for `--custom-tasks` and, for local data, a card: {file name: text}."""
    stem = configuration.stem
    local = f'str(Path(__file__).resolve().parent / "{stem}{DATA}")'
    # Without a BOS a prompt that begins with the slot gives its choices no context.
    counts = {x: sum(not y.strip() for y in ys) for x, ys in configuration.prefixes.items()}
    code = configuration.fill(
        "lighteval_tasks.txt",
        harness=HARNESS,
        task=f"{stem}:{next(iter(configuration.files))}",
        languages=configuration.files,
        listed=pformat(list(configuration.files), width=90, compact=True),
        unprefixed={language: count for language, count in counts.items() if count},
        repository=json.dumps(configuration.dataset_id) if configuration.dataset_id else local,
        config=configuration.name,
        number=int(configuration.fingerprint[:7], 16),
        slot=SLOT,
    )
    tasks = {f"{stem}.py": code}
    if configuration.dataset_id:
        return tasks
    # `datasets` 5.2 caches a folder by the configurations in its card only. With the fingerprint
    # in the card it reads changed files again.
    config = {
        "config_name": configuration.name,
        "description": f"Parquet files {configuration.fingerprint}",
        "data_files": [{"split": x, "path": list(y)} for x, y in configuration.files.items()],
    }
    head = to_yaml({"configs": [config]})
    card = f"---\n{head}---\n\nThe tasks load {configuration.title} by this card.\n"
    return {**tasks, f"{stem}{DATA}/README.md": card}

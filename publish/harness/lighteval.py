"""Tasks of lighteval: one Python file, and for local data a card that names the files."""

import json
from pprint import pformat

from polyprobe.schema.columns import SLOT

from .configuration import DATA, Configuration, to_yaml

HARNESS = "lighteval 0.13.0"


def render_lighteval(configuration: Configuration, donors: Configuration | None) -> dict[str, str]:
    """Write the Python file for `--custom-tasks` and cards for local data: {file name: text}."""
    stem = configuration.stem
    # Without a BOS a prompt that begins with the slot gives its choices no context.
    counts = {x: sum(not y.strip() for y in ys) for x, ys in configuration.prefixes.items()}
    code = configuration.fill(
        "lighteval_tasks.txt",
        harness=HARNESS,
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

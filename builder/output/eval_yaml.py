"""The benchmark file of a dataset repository, `eval.yaml`, read by the Hub.

Its fields are documented at https://huggingface.co/docs/hub/eval-results. The name of the framework
"could be your own", from a list maintained by the Hub. polyprobe is not in that list yet, so the
Hub marks the field as invalid (as in huggingface.js#2096) and shows no leaderboard. `inspect-ai`
would be accepted but wrong: its solvers and scorers generate and judge text, while polyprobe ranks
candidates by probability and compares languages.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import DatasetCard
from huggingface_hub.utils import yaml_dump

from polyprobe.metrics.joint import HEADLINES

from . import card

FRAMEWORK = "polyprobe"
HEAD = """\
# made by `polyprobe build {name}`: do not edit, it is written again with the card
# A task is a figure of a configuration as `polyprobe eval` computes it, at most 1 (rankc_adjusted
# may fall below 0): its mean over the splits, which are languages (accuracy), or over all pairs of
# them. So no task names a `split`.
# Which languages, rows and scoring a result is of stands in its notes.
# The Hub knows `evaluation_framework` by a list that polyprobe is not in. To have a leaderboard
# here, have it added to packages/tasks/src/eval.ts of huggingface/huggingface.js by a pull request,
# and ask the Hub for this dataset's place in its list of benchmarks:
# https://huggingface.co/docs/hub/eval-results
"""


def render_benchmark(folder: Path, name: str, configs: Sequence[str]) -> str:
    """Return `eval.yaml` for the `configs` that exist in the folder."""
    source = DatasetCard(card.read_prose(name))
    tasks = [
        {"id": name_task(config, figure), "config": config}
        for config in configs
        if card.is_built(folder, config)
        for figure in HEADLINES
    ]
    benchmark = {
        "name": source.data.get("pretty_name", name),
        "description": first_paragraph(source.text),
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    return HEAD.format(name=name) + yaml_dump(benchmark, sort_keys=False)


def name_task(config: str, figure: str) -> str:
    """Return the id of a task, the name used in `.eval_results/` of model repositories.

    >>> name_task("53-repaired", "rankc")
    '53-repaired_rankc'
    """
    return f"{config}_{figure}"


def first_paragraph(text: str) -> str:
    r"""Return the first paragraph after a card's title, on one line, without Markdown.

    >>> first_paragraph("# Title\n\nA *set*\nof [facts](https://x.y).\n\nMore.")
    'A set of facts.'
    """
    blocks = (block.strip() for block in text.split("\n\n"))
    found = next((x for x in blocks if x and not x.startswith(("#", "<!--"))), "")
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found)
    return " ".join(re.sub(r"[*`]", "", plain).split())

"""BMLAMA: the published configurations and the repaired ones."""

from pathlib import Path

from polyprobe.builder.facts.truths import learn
from polyprobe.builder.recipes.table import RECIPES
from polyprobe.builder.sources import read_truths
from polyprobe.builder.sources.bmlama.facts import list_replacements
from polyprobe.builder.sources.bmlama.files import PUBLISHED, REPOSITORY, read_rows
from polyprobe.builder.sources.bmlama.linked import read_linked
from polyprobe.schema.columns import Row
from polyprobe.system.progress import report

from .card import describe
from .repair import repair

__all__ = ["REPOSITORY", "describe"]

CONFIGS = RECIPES["bmlama"].configs
DEFAULT_CONFIG = "17"


def build(config: str, mirror: Path | None = None) -> dict[str, list[Row]]:
    """Return {language: rows} of a configuration, in the published order."""
    if config in PUBLISHED:
        return read_rows(config, mirror)
    published = config.removesuffix("-repaired")
    linked = read_linked(mirror)
    knowledge = learn(read_truths(mirror))
    others = [linked[other] for other in PUBLISHED if other != published]
    rows, dropped = repair(linked[published], others, knowledge, list_replacements(published))
    total = len(linked[published].queries)
    report(f"{config}: {len(dropped)} of {total} published rows left out, for want of distractors")
    return rows

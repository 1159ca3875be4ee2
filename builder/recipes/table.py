"""The table of published datasets."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from polyprobe.builder.output.folder import list_configs
from polyprobe.schema.columns import SENTENCE
from polyprobe.system.errors import unknown

BALANCED = "balanced"  # the dataset that is made as one asks for it, of any source of facts
DESCRIBER = "polyprobe.builder.recipes.balanced.card"
RECIPES = {
    "bmlama": "polyprobe.builder.recipes.bmlama.build",
    "fluent-mlama": "polyprobe.builder.recipes.fluent_mlama.build",
    "geofacts": "polyprobe.builder.recipes.geofacts.build",
}


def list_known(folder: Path, name: str) -> list[str]:
    """Return what the folder may hold: the dataset's configurations, and the twins that are there.

    Of a balanced set it is what lies there.
    """
    here = list_configs(folder)
    if name == BALANCED:
        return here
    own = load_source(name).CONFIGS
    return [*own, *(config for config in here if is_twin(name, config))]


def is_twin(name: str, config: str) -> bool:
    """Tell whether a configuration of a dataset would be a sentence-level twin, by its name."""
    own = () if name == BALANCED else load_source(name).CONFIGS
    return config.endswith(SENTENCE) and config not in own


def load_describer(name: str) -> ModuleType:
    """Return the module whose `describe` says what the card of a dataset has of its own."""
    return import_module(DESCRIBER) if name == BALANCED else load_source(name)


def load_source(name: str) -> ModuleType:
    """Return the module that makes the dataset `name`."""
    if name not in RECIPES:
        raise unknown("dataset", name, "polyprobe", (*RECIPES, BALANCED))
    return import_module(RECIPES[name])


def choose_configs(name: str, source: ModuleType, configs: Sequence[str]) -> list[str]:
    """Return the configurations asked for, all where none is, in the source's order."""
    for config in configs:
        if config not in source.CONFIGS:
            raise unknown("configuration", config, name, source.CONFIGS)
    return [config for config in source.CONFIGS if config in configs or not configs]

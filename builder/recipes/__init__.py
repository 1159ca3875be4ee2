"""The published datasets, one package each. Imports are light: the command line reads the names."""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from polyprobe.system.errors import unknown


class Recipe(NamedTuple):
    """A dataset: its build module, a short title, and the names of its configurations.

    `further` are earlier versions, other spellings and wider answers, built only by name.

    The module defines CONFIGS, DEFAULT_CONFIG, `build(config, mirror) -> {language: rows}`
    (a list of `Row`, or an Arrow table with columns of `columns.RELEASED`) and
    `describe(configs)`, which returns the parts of the card that only this dataset has.
    """

    module: str
    title: str
    configs: tuple[str, ...]
    further: tuple[str, ...] = ()


BALANCED = "balanced"
OWN = "own"
# Datasets that are built by request, without configurations of their own, and their modules.
REQUESTED = {
    BALANCED: "polyprobe.builder.recipes.balanced.build",
    OWN: "polyprobe.builder.recipes.own.build",
}
FLUENT_WIDE = "-wide"  # the object's aliases are correct
_FLUENT = tuple(
    language + wording
    for language in ("cs", "da", "es", "hr", "id", "ru", "uk", "vi", "zh")
    for wording in ("", "-sentence", "-chatgpt")
    if wording != "-chatgpt" or language in ("cs", "hr", "ru", "uk")
)
RECIPES = {
    "bmlama": Recipe(
        "polyprobe.builder.recipes.bmlama.build",
        "BMLAMA as published and repaired",
        ("17", "53", "17-repaired", "53-repaired"),
        further=("17-repaired-1", "53-repaired-1", "17-repaired-hant", "53-repaired-hant"),
    ),
    "fluent-mlama": Recipe(
        "polyprobe.builder.recipes.fluent_mlama.build",
        "the rows of Fluent-mLAMA, as templates and as sentences",
        _FLUENT,
        further=tuple(config + FLUENT_WIDE for config in _FLUENT),
    ),
    "geofacts": Recipe(
        "polyprobe.builder.recipes.geofacts.build",
        "geographic facts with labels of Unicode CLDR",
        ("default",),
    ),
}


def load_recipe(name: str) -> ModuleType:
    """Return the module that builds the dataset `name`."""
    if name not in RECIPES:
        raise unknown("dataset", name, "polyprobe", (*RECIPES, *REQUESTED))
    return import_module(RECIPES[name].module)


def load_describer(name: str) -> ModuleType:
    """Return the module whose `describe` returns the dataset-specific parts of the card."""
    return import_module(REQUESTED[name]) if name in REQUESTED else load_recipe(name)


def list_own(name: str) -> Sequence[str]:
    """Return the configurations that a recipe defines; none for those of REQUESTED."""
    own: Sequence[str] = () if name in REQUESTED else load_recipe(name).CONFIGS
    return own


def choose_configs(name: str, configs: Sequence[str]) -> list[str]:
    """Return the requested configurations in the recipe's order, or all but further ones."""
    known = load_recipe(name).CONFIGS
    configs = configs or RECIPES[name].configs
    for config in configs:
        if config not in known:
            raise unknown("configuration", config, name, known)
    return [config for config in known if config in configs]

"""The published datasets, one package each. Imports are light: the command line reads the names."""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from polyprobe.system.files import read_toml
from polyprobe.system.messages import refuse_unknown, unknown


class Recipe(NamedTuple):
    """A dataset: a short title, and the names of its configurations.

    `variants` are earlier versions, other spellings and wordings, and wider answers, built only by
    name. They are in recipes.toml.

    `recipes.NAME` has DEFAULT_CONFIG, `build(config, mirror) -> {language: rows}` (an Arrow table
    with columns of `columns.RELEASED`, or a list of `Row`) and, if its card has parts that only
    this dataset has, `describe(configs)`, which returns them. SMALL are configurations in brotli.
    """

    title: str
    configs: tuple[str, ...]
    variants: tuple[str, ...] = ()


BALANCED = "balanced"
OWN = "own"
SOURCED: dict[str, dict[str, str]] = read_toml(__package__, "sourced.toml")
REQUESTED = (BALANCED, OWN, *SOURCED)  # built by request, without configurations of their own
EXTENSIBLE = ("bmlama", "geofacts", "klar")  # a contributor's files may add a language
TRANSLATED = "-translated"  # with the templates on which mParaRel's translators agree
FLUENT_WIDE = "-wide"  # the object's aliases are correct
RECIPES = {
    name: Recipe(of["title"], *(tuple(of.get(key, "").split()) for key in Recipe._fields[1:]))
    for name, of in read_toml(__package__, "recipes.toml").items()
}


def load_recipe(name: str) -> ModuleType:
    """Return the module that builds the dataset `name`, also one of REQUESTED."""
    if name not in REQUESTED:
        find_recipe(name)
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def find_recipe(name: str) -> Recipe:
    """Return the entry of RECIPES; PolyprobeError for another name."""
    if name not in RECIPES:
        raise unknown("dataset", name, "polyprobe", (*RECIPES, *REQUESTED))
    return RECIPES[name]


def list_recipe_configs(name: str) -> Sequence[str]:
    """Return the configurations that a recipe defines; none for those of REQUESTED."""
    if name in REQUESTED:
        return ()
    recipe = find_recipe(name)
    return recipe.configs + recipe.variants


def choose_configs(name: str, configs: Sequence[str]) -> list[str]:
    """Return the requested configurations in the recipe's order, or all but its variants."""
    recipe = find_recipe(name)
    names = list_recipe_configs(name)
    configs = configs or recipe.configs
    refuse_unknown("configuration", configs, name, names)
    return [config for config in names if config in configs]

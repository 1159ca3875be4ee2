"""The published datasets, one package each. Imports are light: the command line reads the names."""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from polyprobe.system.messages import refuse_unknown, unknown


class Recipe(NamedTuple):
    """A dataset: a short title, and the names of its configurations.

    `variants` are earlier versions, other spellings and wider answers, built only by name.

    `recipes/NAME/build.py` defines DEFAULT_CONFIG, `build(config, mirror) -> {language: rows}` (an
    Arrow table with columns of `columns.RELEASED`, or a list of `Row`) and, if its card has parts
    that only this dataset has, `describe(configs)`, which returns them.
    """

    title: str
    configs: tuple[str, ...]
    variants: tuple[str, ...] = ()


BALANCED = "balanced"
OWN = "own"
REQUESTED = (BALANCED, OWN)  # built by request, without configurations of their own
EXTENSIBLE = ("bmlama", "geofacts", "klar")  # a contributor's files may add a language
MPARAREL = (
    *("af", "ar", "az", "bg", "bn", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et", "fa"),
    *("fi", "fr", "ga", "gl", "he", "hr", "hu", "hy", "id", "is", "it", "ja", "ko", "lt", "lv"),
    *("ms", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sq", "sv", "th", "tr", "uk", "vi"),
    *("zh-hans", "zh-hant"),
)
"""The languages of mParaRel's templates."""
TRANSLATED = "-translated"  # with the templates on which mParaRel's translators agree
FLUENT_WIDE = "-wide"  # the object's aliases are correct
_FLUENT = tuple(
    language + wording
    for language in ("cs", "da", "es", "hr", "id", "ru", "uk", "vi", "zh")
    for wording in ("", "-sentence", "-chatgpt")
    if wording != "-chatgpt" or language in ("cs", "hr", "ru", "uk")
)
RECIPES = {
    "bmlama": Recipe(
        "BMLAMA as published and repaired",
        ("17", "53", "17-repaired", "53-repaired"),
        variants=(
            *("17-repaired-1", "53-repaired-1", "17-repaired-hant", "53-repaired-hant"),
            "17-repaired-entries",
        ),
    ),
    "fluent-mlama": Recipe(
        "the rows of Fluent-mLAMA, as templates and as sentences",
        _FLUENT,
        variants=tuple(config + FLUENT_WIDE for config in _FLUENT),
    ),
    "polyglot": Recipe(
        "the rows of Polyglot or Not, with a stem for each counterfact",
        (
            *("bg", "ca", "cs", "da", "de", "en", "es", "fr", "hr", "hu"),
            *("it", "nl", "pl", "pt", "ro", "ru", "sl", "sr", "sv", "uk"),
            "parallel",
        ),
    ),
    "geofacts": Recipe(
        "geographic facts with labels of Unicode CLDR",
        ("default",),
    ),
    "xfactr": Recipe(
        "the facts of X-FACTR, one language a configuration",
        (
            *("bn", "ceb", "el", "en", "es", "fr", "he", "hu", "ilo", "ja", "ko", "mg", "mr"),
            *("nl", "pa", "ru", "sw", "tl", "tr", "vi", "war", "yo", "zh"),
        ),
    ),
    "klar": Recipe(
        "facts of BMLAMA-17 in the five questions of KLAR",
        ("17-repaired", "15-repaired", "17", "15"),
    ),
    "mpararel": Recipe(
        "the tuples and templates of mParaRel, as released",
        MPARAREL,
        variants=tuple(language + TRANSLATED for language in MPARAREL if language != "en"),
    ),
}


def load_recipe(name: str) -> ModuleType:
    """Return the module that builds the dataset `name`, also one of REQUESTED."""
    if name not in REQUESTED:
        find_recipe(name)
    return import_module(f"{__name__}.{name.replace('-', '_')}.build")


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

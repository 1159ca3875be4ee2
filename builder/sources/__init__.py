"""Sources of facts: one module or package for each released dataset.

Each has LICENCE (its own, and those of the data it derives from) and REPOSITORY (or URL). Those of
FACT_SOURCES have LANGUAGES (codes) and `read_facts(mirror, languages=None) -> Facts`, those of
TRUTH_SOURCES `read_truths(mirror)`, which returns a table with the columns of `facts.FACTS`.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from polyprobe.system.errors import unknown

if TYPE_CHECKING:  # polars is an extra
    import polars as pl

    from polyprobe.builder.facts import Facts

FACT_SOURCES = {
    "bmlama": "polyprobe.builder.sources.bmlama.linked",
    "fluent-mlama": "polyprobe.builder.sources.fluent_mlama",
    "mlama": "polyprobe.builder.sources.mlama",
    "mlama-hub": "polyprobe.builder.sources.mlama_hub",
    "mpararel": "polyprobe.builder.sources.mpararel",
    "polyglot": "polyprobe.builder.sources.polyglot",
    "xfactr": "polyprobe.builder.sources.xfactr",
}
TRUTH_SOURCES = {
    "mpararel": "polyprobe.builder.sources.mpararel",
    "xfactr": "polyprobe.builder.sources.xfactr",
    "readers": "polyprobe.builder.sources.curated",
}


def load_source(name: str, languages: Iterable[str] = ()) -> ModuleType:
    """Return the module of the source `name`; PolyprobeError for an unknown language."""
    if name not in FACT_SOURCES:
        raise unknown("source", name, "polyprobe", FACT_SOURCES)
    source = import_module(FACT_SOURCES[name])
    for language in languages:
        if language not in source.LANGUAGES:
            raise unknown("language", language, name, source.LANGUAGES)
    return source


def read_source(
    name: str, mirror: Path | None = None, languages: Sequence[str] | None = None
) -> "Facts":
    """Return the facts of the source `name` in some languages (default: all that it has)."""
    facts: Facts = load_source(name, languages or ()).read_facts(mirror, languages)
    return facts


def read_truths(
    mirror: Path | None, sources: Iterable[str] | None = None
) -> "dict[str, pl.DataFrame]":
    """Return {source: its facts} with the columns of `facts.FACTS` (default: all TRUTH_SOURCES).

    X-FACTR lists all objects of a subject, even if no prompt asks for them. By the facts of
    mParaRel, 1,023 rows of BMLAMA-17 have a distractor that is correct. With X-FACTR there are
    1,685. Symmetric and inverse relations are read in both directions.
    """
    names = TRUTH_SOURCES if sources is None else sources
    return {name: import_module(TRUTH_SOURCES[name]).read_truths(mirror) for name in names}

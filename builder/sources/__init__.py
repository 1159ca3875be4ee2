"""Sources of facts: one module or package for each released dataset.

Each has LICENCE (its own, and those of the data it derives from) and REPOSITORY (or URL), from
sources.toml. Those of FACT_SOURCES have LANGUAGES (codes) and `read_facts(mirror, languages=None)
-> Facts`, those of TRUTH_SOURCES `read_truths(mirror)`, which returns a table with the columns of
`facts.FACTS`.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from polyprobe.schema.languages import refuse_languages
from polyprobe.system.files import read_toml
from polyprobe.system.messages import refuse_unknown
from polyprobe.system.options import check_arguments

if TYPE_CHECKING:  # polars is an extra
    from polyprobe.builder.facts import Facts

SOURCES = read_toml(__package__, "sources.toml")
FACT_SOURCES = {
    name: f"{__name__}.{name.replace('-', '_')}"
    for name in ("bmlama", "fluent-mlama", "mlama", "mpararel", "polyglot", "xfactr")
}
# X-FACTR lists all objects of a subject: with it, 1,685 rows of BMLAMA-17 have a distractor that is
# correct, 1,023 by the facts of mParaRel alone.
TRUTH_SOURCES = {x: FACT_SOURCES[x] for x in ("mpararel", "xfactr")}
TRUTH_SOURCES["readers"] = f"{__name__}.curated"


def load_source(name: str, languages: Iterable[str] = ()) -> ModuleType:
    """Return the module of the source `name`; PolyprobeError for an unknown language."""
    source = import_module(FACT_SOURCES[name])
    refuse_languages(languages, name, source.LANGUAGES)
    return source


@check_arguments
def read_source(
    name: str, mirror: Path | None = None, languages: Sequence[str] | None = None
) -> "Facts":
    """Return the facts of the source `name` in some languages (default: all that it has)."""
    refuse_unknown("source", [name], "polyprobe", FACT_SOURCES)
    facts: Facts = load_source(name, languages or ()).read_facts(mirror, languages)
    return facts

"""Checks of a metric before a push: card, app, imports."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.publish.bundle import read_imports
from polyprobe.system.errors import PolyprobeError

NEEDED = ("title", "sdk", "sdk_version", "app_file", "license")


class Metric(NamedTuple):
    """A metric's bundle, the YAML of its card, and the names of its files."""

    folder: Path
    card: Mapping[str, Any]
    files: list[str]


def incomplete_card(metric: Metric) -> Iterator[str]:
    """Find a card without a key that a Gradio Space needs."""
    for key in NEEDED:
        if not metric.card.get(key):
            yield f"README.md: '{key}' is missing in the YAML; a Space needs it"
    if metric.card.get("sdk") not in (None, "gradio"):
        yield f"README.md: sdk is {metric.card['sdk']!r}; expected 'gradio'"


def missing_app(metric: Metric) -> Iterator[str]:
    """Find a card with a missing `app_file`."""
    app = metric.card.get("app_file")
    if app and app not in metric.files:
        yield f"README.md: app_file is {app!r}: no such file"


def missing_sibling(metric: Metric) -> Iterator[str]:
    """Find a missing file that another imports as `from .NAME`."""
    for file, name, relative in list_imports(metric):
        if relative and f"{name}.py" not in metric.files:
            yield f"{file}: imports .{name}, and there is no {name}.py"


def missing_requirement(metric: Metric) -> Iterator[str]:
    """Find a package that a file imports and requirements.txt does not name.

    The name of a package may differ from that of its module: scikit-learn has sklearn.
    """
    named, distributions = read_requirements(metric), packages_distributions()
    for file, name, relative in list_imports(metric):
        # gradio is a requirement by `sdk_version` in the card.
        known = relative or f"{name}.py" in metric.files or name == "gradio"
        if known or name in sys.stdlib_module_names:
            continue
        if not named & {normalize_name(n) for n in (name, *distributions.get(name, ()))}:
            yield f"requirements.txt: {name} is missing, which {file} imports"


def list_imports(metric: Metric) -> list[tuple[str, str, bool]]:
    """Return all imports: file, first name of the module, whether it is `from .NAME`."""
    files = [file for file in metric.files if file.endswith(".py")]
    return [
        (file, name.split(".")[0], relative)
        for file in files
        for name, relative in read_imports(metric.folder / file)
    ]


def read_requirements(metric: Metric) -> set[str]:
    """Return the names of the packages in requirements.txt."""
    file = metric.folder / "requirements.txt"
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    except UnicodeDecodeError as error:
        raise PolyprobeError(f"{file} is not UTF-8 text: {error.reason}") from error
    return {normalize_name(re.split(r"[^\w.-]", line.strip())[0]) for line in lines}


def normalize_name(name: str) -> str:
    """Return a package's name as package indexes compare it.

    >>> normalize_name("Scikit_Learn")
    'scikit-learn'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def not_loading(metric: Metric) -> Iterator[str]:
    """Find a module that evaluate cannot load."""
    import evaluate

    try:
        evaluate.load(str(metric.folder / f"{metric.folder.name}.py"))
    except (Exception, SystemExit) as error:  # any code may be in it
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        yield f"{metric.folder.name}.py: evaluate cannot load it: {reason}"


Check = Callable[[Metric], Iterator[str]]
# A stage runs if the one before found nothing, and relies on that.
STAGES: tuple[dict[str, Check], ...] = (
    {"incomplete-card": incomplete_card, "missing-app": missing_app},
    {"missing-sibling": missing_sibling, "missing-requirement": missing_requirement},
    {"not-loading": not_loading},
)

"""What must hold of a metric's folder before it is pushed: card, app, imports."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

NEEDED = ("title", "sdk", "sdk_version", "app_file", "license")


class Metric(NamedTuple):
    """A metric's folder, its card's YAML, and the names of its files."""

    folder: Path
    card: Mapping[str, Any]
    files: list[str]


def incomplete_card(metric: Metric) -> Iterator[str]:
    """Find a card without what a Gradio Space needs."""
    for key in NEEDED:
        if not metric.card.get(key):
            yield f"README.md: '{key}' is missing in the YAML; a Space needs it"
    if metric.card.get("sdk") not in (None, "gradio"):
        yield f"README.md: sdk is {metric.card['sdk']!r}; expected 'gradio'"


def missing_app(metric: Metric) -> Iterator[str]:
    """Find a card whose `app_file` is not there."""
    app = metric.card.get("app_file")
    if app and app not in metric.files:
        yield f"README.md: app_file is {app!r}: no such file"


def missing_sibling(metric: Metric) -> Iterator[str]:
    """Find a file that is imported from beside the module and is not there."""
    for file, kind, name in read_imports(metric):
        if kind == "internal" and f"{name}.py" not in metric.files:
            yield f"{file}: imports .{name}, and there is no {name}.py"


def missing_requirement(metric: Metric) -> Iterator[str]:
    """Find a package that a file imports and requirements.txt does not name."""
    requirements = metric.folder / "requirements.txt"
    named = requirements.read_text(encoding="utf-8").lower() if requirements.is_file() else ""
    for file, kind, name in read_imports(metric):
        known = f"{name}.py" in metric.files or name == "gradio"  # this comes with sdk_version
        if kind == "library" and not known and name.lower() not in named:
            yield f"requirements.txt: {name} is missing, which {file} imports"


def read_imports(metric: Metric) -> list[tuple[str, str, str]]:
    """Return what the files import as evaluate reads it: (file, `internal` or `library`, name)."""
    import sys

    from evaluate.loading import get_imports

    return [
        (file, kind, name)
        for file in metric.files
        if file.endswith(".py")
        for kind, name, *_ in get_imports(str(metric.folder / file))
        if name not in sys.stdlib_module_names
    ]


def not_loading(metric: Metric) -> Iterator[str]:
    """Find a module that evaluate cannot load."""
    import evaluate

    try:
        evaluate.load(str(metric.folder / f"{metric.folder.name}.py"))
    except Exception as error:  # a stranger's code fails as it likes
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        yield f"{metric.folder.name}.py: evaluate cannot load it: {reason}"


Check = Callable[[Metric], Iterator[str]]
# A stage is looked at where the one before found nothing: it may rely on it.
STAGES: tuple[dict[str, Check], ...] = (
    {"incomplete-card": incomplete_card, "missing-app": missing_app},
    {"missing-sibling": missing_sibling, "missing-requirement": missing_requirement},
    {"not-loading": not_loading},
)

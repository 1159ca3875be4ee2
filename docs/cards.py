"""Make pages of the site from cards and from tables of bench/.

A hook of mkdocs. `metrics/NAME/README.md` and `datasets/NAME/README.md` become pages without their
YAML head; the page of a metric ends with the functions of its module. The N-th table of a Markdown
file of the repository replaces `<!-- table FILE N -->` in a page, so no figure is typed twice, and
the table of a group of options replaces `<!-- options MODULE CLASS -->`.
mkdocstrings reads a copy of the package under its name, with the doctests of docstrings fenced.
"""

import ast
import re
import shutil
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

from polyprobe.system.options import collect_options

ROOT = Path(__file__).parents[1]
ROOMS = sorted({file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests"})
PACKAGE = TemporaryDirectory(prefix="polyprobe-docs-")
HEAD = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
TABLE = re.compile(r"^<!-- table (\S+) (\d+) -->$", re.MULTILINE)
TABLE_ROWS = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
OPTIONS = re.compile(r"^<!-- options (\S+) (\S+) -->$", re.MULTILINE)
DOCTEST = re.compile(r'^( *)>>> .+(?:\n\1(?!""").+)*', re.MULTILINE)
IN_PYTHON = """
## In Python

The functions of `formulas.py`, for use on arrays without `evaluate`.
"""
FUNCTION = """
::: polyprobe.metrics.{metric}.formulas.{function}
    options: {{show_root_full_path: false}}
"""


@event_priority(100)  # before mkdocstrings reads its paths
def on_config(config: Any) -> Any:
    """Copy the code to a folder named `polyprobe`, where mkdocstrings reads it."""
    package = Path(PACKAGE.name, "polyprobe")
    package.mkdir(exist_ok=True)
    shutil.copy(ROOT / "__init__.py", package)
    for room in ROOMS:
        options = {"ignore": ignore_others, "copy_function": copy_code, "dirs_exist_ok": True}
        shutil.copytree(ROOT / room, package / room, **options)
    for folder in package.glob("metrics/*/"):  # namespace packages, which are not searched
        (folder / "__init__.py").touch()
    (package / "metrics" / "__init__.py").touch()
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [PACKAGE.name]
    return config


def ignore_others(folder: str, names: list[str]) -> list[str]:
    """Return the names in a folder that are neither Python files nor folders."""
    return [name for name in names if not (name.endswith(".py") or Path(folder, name).is_dir())]


def copy_code(source: str, target: str) -> None:
    """Copy a module with a fence around each doctest, since Markdown reads `>>>` as a quotation."""
    text = Path(source).read_text(encoding="utf-8")
    Path(target).write_text(DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", text), encoding="utf-8")


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each card of metrics/, and for each dataset in the navigation."""
    for card in sorted(ROOT.glob("metrics/*/README.md")):
        text = read_card(card) + list_functions(card.parent.name)
        files.append(File.generated(config, f"metrics/{card.parent.name}.md", content=text))
    for page in sorted(set(re.findall(r"datasets/([\w-]+)\.md", str(config.nav))) - written_here()):
        text = read_card(ROOT / "datasets" / page / "README.md")
        files.append(File.generated(config, f"datasets/{page}.md", content=text))
    return files


def written_here() -> set[str]:
    """Return the names of the pages on datasets that are not cards."""
    return {page.stem for page in ROOT.glob("docs/datasets/*.md")}


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Insert the tables named by a page."""
    markdown = TABLE.sub(lambda mark: read_table(mark[1], int(mark[2])), markdown)
    return OPTIONS.sub(lambda mark: list_options(mark[1], mark[2]), markdown)


def read_card(path: Path) -> str:
    """Return a card without its YAML head."""
    return HEAD.sub("", path.read_text(encoding="utf-8"))


def list_functions(metric: str) -> str:
    """Return the end of a metric's page: each public function of its formulas, by its docstring."""
    source = (ROOT / "metrics" / metric / "formulas.py").read_text(encoding="utf-8")
    found = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    public = [name for name in found if not name.startswith("_")]
    return IN_PYTHON + "".join(FUNCTION.format(metric=metric, function=name) for name in public)


def list_options(module: str, name: str) -> str:
    """Return the options of a group in a table for each part of `--help`."""
    group = getattr(import_module(module), name)
    defaults = {part.name: part.default for part in fields(group)}
    tables: dict[str, list[str]] = {}
    for option, declaration in collect_options(group).items():
        default = defaults[option]
        value = "" if default is None else f"`{default}`"
        if isinstance(default, bool):
            value = "on" if default else ""
        text = declaration.help.replace("|", "\\|")
        rows = tables.setdefault(declaration.panel or "Rows and scoring", [])
        rows.append(f"| `{declaration.flag}` | {value} | {text} |")
    heads = {title: f"| {title} | default | |\n| --- | --- | --- |" for title in tables}
    return "\n\n".join("\n".join([heads[title], *rows]) for title, rows in tables.items())


def read_table(path: str, number: int) -> str:
    """Return a table by its number, starting at 1.

    Raises:
        PluginError: no such file or table.
    """
    try:
        tables = TABLE_ROWS.findall((ROOT / path).read_text(encoding="utf-8"))
        return tables[number - 1]
    except (OSError, IndexError) as error:
        raise PluginError(f"no table {number} in {path}") from error

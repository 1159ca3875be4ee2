"""Run a benchmark of this folder: `python -m bench NAME [ARGUMENTS]` in the checkout.

Each benchmark is a module with a docstring and `main(argv)`. It prints its results; if they are
kept, it also writes them to bench/NAME.md.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path

from polyprobe.system.messages import PolyprobeError

FOLDER = Path(__file__).parent


def list_questions() -> dict[str, str]:
    """Return {name: first line of the docstring} of every module with `main(argv)`."""
    found = {}
    for path in sorted([*FOLDER.glob("*.py"), *FOLDER.glob("*/__init__.py")]):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(x, ast.FunctionDef) and x.name == "main" for x in tree.body):
            name = path.parent.name if path.stem == "__init__" else path.stem
            found[name] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return {name: line for name, line in found.items() if name != "__main__"}


def main(argv: list[str]) -> None:
    """Run one benchmark, or list all of them."""
    questions = list_questions()
    if not argv or argv[0] not in questions:
        print(f"python -m bench NAME [ARGUMENTS]\n\n{tabulate(questions)}")
        raise SystemExit(argv[0:1] not in ([], ["--help"]))
    module = import_module(f"bench.{argv[0]}")
    try:
        module.main(argv[1:])
    except PolyprobeError as error:
        raise SystemExit(f"error: {error}") from None


def tabulate(questions: dict[str, str]) -> str:
    """Return one line for each benchmark."""
    return "\n".join(f"{name:14} {line}" for name, line in questions.items())


if __name__ == "__main__":
    main(sys.argv[1:])

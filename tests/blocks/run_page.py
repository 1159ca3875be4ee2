"""Run the steps of a page in order, as a reader would, in a separate process.

The program imports torch and the other slow libraries once and forks for each page; this saves five
seconds per page. In a page's process `polyprobe` lines call the command's own `main`, and Python
blocks share one namespace. Jobs come on standard input, a JSON object a line: `steps`, a list of
[kind, text, place]; `folder` to work in; `home`, the folder that the link at $HOME then
leads to. The answer is a line too: `printed`, what each step printed, or `error`.
"""

import ast
import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from numbers import Number
from pathlib import Path
from typing import Any

SAID = re.compile(r"#\s*(?P<value>True|False|-?\d[\d.]*)(?P<more>…?)(?=$|[ ,;:])")


def run_steps(steps: list[list[str]]) -> list[str]:
    """Return the output of the steps; SystemExit names a failed step with its message."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for kind, text, place in steps:
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                RUN[kind](text, place, namespace)
        except BaseException as error:
            sys.stderr.write(f"{out.getvalue()}\n{place}: {text}\n{type(error).__name__}: {error}")
            raise SystemExit(1) from error
        printed.append(out.getvalue())
    return printed


def run_command(text: str, place: str, namespace: dict[str, Any]) -> None:
    """Run one or more command lines; any status but 0 is an error."""
    from polyprobe.cli import main

    for line in text.strip().splitlines():
        arguments = shlex.split(line)
        if arguments[0] != "polyprobe":  # python, or variables before the command
            run_process(line)
            continue
        sys.argv = arguments
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"`{line}` ended with status {end.code}") from end


def run_process(line: str) -> None:
    ours = f'PATH="{Path(sys.executable).parent}:$PATH" '
    done = subprocess.run(["bash", "-c", ours + line], capture_output=True, text=True, check=False)
    print(done.stdout)
    if done.returncode:
        raise RuntimeError(f"`{line}` ended with status {done.returncode}: {done.stderr}")


def run_python(text: str, place: str, namespace: dict[str, Any]) -> None:
    lines = text.splitlines()
    for node in ast.parse(text, place).body:
        if isinstance(node, ast.Expr):
            value = eval(compile(ast.Expression(node.value), place, "eval"), namespace)
            behind = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode()
            check_value(value, SAID.search(behind))
        else:
            exec(compile(ast.Module([node], []), place, "exec"), namespace)


def check_value(value: Any, said: re.Match[str] | None) -> None:
    """Raise ValueError unless a number equals that in the comment, up to a `…`."""
    if said is None or not isinstance(value, Number):
        return
    expected = said["value"]
    same = str(value).startswith(expected) if said["more"] else value == ast.literal_eval(expected)
    if not same:
        raise ValueError(f"the page says {said[0]!r}; the value is {value!r}")


def run_doctest(text: str, place: str, namespace: dict[str, Any]) -> None:
    examples = doctest.DocTestParser().get_doctest(text, namespace, place, place, 0)
    examples.globs = namespace  # get_doctest copies it; names go on to the next block
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    if runner.run(examples, clear_globs=False).failed:
        raise ValueError("the examples give something else")


RUN = {"command": run_command, "python": run_python, "doctest": run_doctest}
SLOW = ("torch", "transformers", "datasets", "evaluate", "polyprobe.cli", "polyprobe.eval.evaluate")


def serve() -> None:
    for name in SLOW:
        import_module(name)
    for line in sys.stdin:
        print(json.dumps(run_apart(json.loads(line))), flush=True)


def run_apart(job: dict[str, Any]) -> dict[str, Any]:
    home = Path(job["home"])
    now = Path(os.environ["HOME"])
    now.unlink(missing_ok=True)
    now.symlink_to(home)
    answer, log = home / "answer.json", home / "log"
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        failed = {"error": log.read_text(encoding="utf-8")}
        return json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else failed
    status = 1
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.environ["POLYPROBE_CACHE"] = str(home / "scores")
        os.chdir(job["folder"])
        answer.write_text(json.dumps({"printed": run_steps(job["steps"])}), encoding="utf-8")
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()

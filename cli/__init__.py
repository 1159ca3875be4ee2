"""The `polyprobe` command: its subcommands, each named here once."""

import atexit
import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from polyprobe import __version__
from polyprobe.system.messages import PolyprobeError, hide_secrets_in_logs, one_line, report

from .analyses import audit, board, compare, groups, relate, tokens
from .build import app as build
from .edit import edit
from .list import cache, list_kinds
from .options import say
from .publish import export, install, push
from .runs import demo, evaluate, import_, judge, metrics, report_runs
from .switch import switch

UsageError = typer.BadParameter.__bases__[0]  # typer does not export it


class Commands(TyperGroup):
    """Commands in the order of COMMANDS; typer would put groups behind all others."""

    def list_commands(self, ctx: Any) -> Any:
        """List the names of all commands."""
        return [name for panel in COMMANDS.values() for name in panel]


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
INTERRUPTED = 130  # how typer ends on Ctrl-C
EVERYDAY, MORE = "Everyday commands", "More commands"
# Each command with the arguments of its example; groups have one for each subcommand.
COMMANDS: dict[str, dict[str, tuple[Any, str]]] = {
    EVERYDAY: {
        "demo": (demo, "--output demo-run"),
        "build": (build, ""),
        "install": (install, ""),
        "eval": (evaluate, "geolm --dataset geofacts --languages en,es,el --output runs/geo"),
        "compare": (compare, "runs/geo runs/other --output differences.html"),
        "report": (report_runs, "runs/geo runs/other --output both.html --figure rankc.pdf"),
        "push": (push, "metrics/rankc OWNER/rankc --dry-run"),
    },
    MORE: {
        "list": (list_kinds, "scorings"),
        "audit": (audit, "geofacts --output audit.html"),
        "tokens": (tokens, "geolm --dataset geofacts --languages en,es,el"),
        "import": (import_, "scores.csv --dataset geofacts --output runs/own"),
        "judge": (judge, "answers.csv --dataset geofacts --output runs/own"),
        "metrics": (metrics, "runs/geo --by-relation"),
        "groups": (groups, "runs/geo --by continent"),
        "relate": (relate, "runs/geo --with subwords,script --output relate.html"),
        "board": (board, "runs/geo runs/other --output leaderboard"),
        "edit": (edit, "geolm --dataset geofacts --languages en,es,el --layer 0 --output edits"),
        "switch": (switch, "geofacts --languages en,el --output pairs.jsonl"),
        "export": (export, "runs/geo --format latex"),
        "cache": (cache, ""),
    },
}
for panel, commands in COMMANDS.items():
    for name, (command, arguments) in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            epilog = f"Example: polyprobe {name} {arguments}".rstrip()
            app.command(name, epilog=epilog, rich_help_panel=panel)(command)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Measure whether a language model knows the same facts in every language."""
    if version:
        say(f"polyprobe {__version__}")
        raise typer.Exit


def run() -> None:
    """Run the command line, and end the process before Python's teardown."""
    # In the teardown a thread of Arrow that still closes a file aborts the process
    # (apache/arrow#45214), after the command has done its work.
    try:
        main()
    except SystemExit as end:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the work is done
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # closed by its reader
                stream.flush()
        os._exit(end.code if isinstance(end.code, int) else bool(end.code))


def main() -> None:
    """Run the command line; a user's mistake ends in one line and status 1, never a traceback."""
    try:
        for stream in (sys.stdout, sys.stderr):  # a terminal without emoji shows a question mark
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")
        hide_secrets_in_logs()
        status = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)
    except PolyprobeError as error:
        fail(str(error))
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its text is the help
            error.show()
            sys.exit(error.exit_code)
        command = error.ctx.command_path if error.ctx else "polyprobe"
        fail(f"{one_line(error.format_message())}; see {command} --help", error.exit_code)
    except OSError as error:  # a disk, a permission, a name too long: in the system's words
        place = f": {error.filename}" if error.filename else ""
        fail(f"{error.strerror or error}{place}")
    except MemoryError:
        fail("out of memory; ask for fewer --resamples or languages")
    except ImportError as error:  # a damaged package, or no memory for its libraries
        fail(f"cannot import {error.name or 'a package'}: {one_line(error)}")
    except (KeyboardInterrupt, SystemExit) as end:
        status = INTERRUPTED if isinstance(end, KeyboardInterrupt) else end.code
        if status == INTERRUPTED:
            report("interrupted; run the same command again to resume")
        sys.exit(status)
    except Exception as error:
        if not is_gate():  # whose traceback would end with 1
            raise
        fail(repr(error))


def fail(message: str, status: int = 1) -> NoReturn:
    """End with one line on standard error."""
    report(f"error: {message}")
    # 1 is a lost figure to a build: a mistake is not decidable
    sys.exit(max(status, 2) if is_gate() else status)


def is_gate() -> bool:
    """Check whether the command is a gate, which ends with 1 for nothing but a lost figure."""
    options = {"--fail-if", "--margin", "--strict"}
    return any(word.partition("=")[0] in options for word in sys.argv)

"""Options that several commands share, their checks, and their output of one line."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import Field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import typer
from rich.console import Console, RenderableType

from polyprobe.schema.names import parse_languages, split_list
from polyprobe.scoring.options import FREE
from polyprobe.system.errors import PolyprobeError, check_ending, check_option
from polyprobe.system.options import Declaration, Options, collect_options

if TYPE_CHECKING:
    from polyprobe.metrics.pictures.picture import Picture


PICTURES = "Pictures for papers"
# The parts of the help of a command, in order.
PANELS = (
    *("", "Model", "Served models", "Chat", "Workers", f"Free decoding (--scoring {FREE})"),
    *("Sentences of the source", "Translated templates"),
)
Function = TypeVar("Function", bound=Callable[..., Any])
_Value = TypeVar("_Value")


def example(line: str) -> str:
    """Return the epilog of a command's help."""
    return f"Example: {line}"


def take_options(group: type[Options]) -> Callable[[Function], Function]:
    """Give a command the options of a group, which it receives as keywords.

    Their values are checked when the group is made, not by typer, so that a mistake has the same
    words as in a script.
    """

    def change(function: Function) -> Function:
        parts = signature(function, eval_str=True).parameters.values()
        declared = collect_options(group)
        options = [
            _make_parameter(part, declared[part.name])
            for part in fields(group)
            if part.name in declared
        ]
        panels = list(dict.fromkeys([*PANELS, *(option.panel for option in declared.values())]))
        options.sort(key=lambda part: panels.index(declared[part.name].panel))
        parameters = [part for part in parts if part.kind is not Parameter.VAR_KEYWORD]

        # Not in callbacks of typer, which makes a list of whatever they return.
        @wraps(function)
        def call(**values: Any) -> Any:
            for part in fields(group):
                parse = declared[part.name].parse if part.name in declared else None
                if parse:
                    values[part.name] = parse(list(values[part.name] or ())) or part.default
            return function(**values)

        call.__signature__ = Signature(  # type: ignore[attr-defined]
            [part.replace(kind=Parameter.KEYWORD_ONLY) for part in parameters] + options
        )
        return cast("Function", call)

    return change


def _make_parameter(part: "Field[Any]", option: Declaration) -> Parameter:
    """Return the parameter of a command for the field of an option."""
    keywords: dict[str, Any] = {"help": option.help, "metavar": option.metavar}
    if option.panel:
        keywords["rich_help_panel"] = option.panel
    kind: Any = str
    if part.type == Path | None:
        kind = Path
    elif isinstance(part.default, bool) or part.type == bool | None:
        kind = bool
    elif option.minimum is not None:
        kind = int
        upper = "" if option.maximum is None else f"<={option.maximum}"
        limits = f"{option.minimum}<=x{upper}" if upper else f"x>={option.minimum}"
        keywords["metavar"] = f"<int range> [{limits}]"
    elif option.parse:
        kind = list[str]
    elif isinstance(part.default, int | float):
        kind = type(part.default)
    switch = part.default is True or part.type == bool | None
    words = [f"{option.flag}/--no-{option.flag[2:]}" if switch else option.flag]
    info = typer.Option(part.default, *words, **keywords)
    kind = kind | None if part.default is None else kind
    return Parameter(part.name, Parameter.KEYWORD_ONLY, default=info, annotation=kind)


def one_of(names: Collection[str]) -> Callable[[typer.CallbackParam, Any], Any]:
    """Return the callback of an option or argument that accepts only known names.

    Options that may be repeated are lists with commas.

    It is called while the command line is read, before a command imports anything.
    """

    def check(parameter: typer.CallbackParam, value: Any) -> Any:
        for text in [value] if isinstance(value, str) else split_list(value):
            check_option(parameter.opts[0], text, names)
        return value

    return check


def checked(check: Callable[[_Value], None]) -> Callable[[_Value | None], _Value | None]:
    """Return the callback of an option whose value a function refuses by an error."""

    def call(value: _Value | None) -> _Value | None:
        if value is not None:
            check(value)
        return value

    return call


def check_dataset(name: str) -> None:
    """Refuse a dataset that cannot be found, without a request to the Hub."""
    from polyprobe.schema.locate import check_dataset_name

    check_dataset_name(name)


def check_page_file(file: Path) -> None:
    """Refuse a file that is not named like a page."""
    check_ending("--output", file, (".html",))


def check_figure_file(file: Path) -> None:
    """Refuse a file name with another ending, and PDF or PNG without their writer."""
    from polyprobe.report.pictures.draw import check_figure

    check_figure(file)


def save_chosen(
    pictures: "Mapping[str, Picture]",
    file: Path,
    draw: str | None,
    order: str = "given",
    names: str = "codes",
) -> None:
    """Save the named picture (default: the first), and print the name of its file.

    Raises:
        PolyprobeError: an unknown name, an order that the picture does not have, or the file cannot
            be written.
    """
    from polyprobe.report.pictures.draw import save_picture
    from polyprobe.report.pictures.order import arrange

    draw = next(iter(pictures)) if draw is None else draw
    check_option("--draw", draw, pictures)
    save_picture(arrange(pictures[draw], order), file, names == "names")
    say(f"figure: {file} ({draw})")


def parse_splits(text: str | None) -> list[str] | None:
    """Return the split names of languages, with underscores; None, for all, stays None.

    >>> parse_splits("en, zh-hans"), parse_splits(None)
    (['en', 'zh_hans'], None)
    """
    if text is None:
        return None
    codes = parse_languages(text)
    if not codes:
        raise PolyprobeError("--languages is empty; give codes such as en,fr, or omit it for all")
    return [code.replace("-", "_") for code in codes]


def say(line: str) -> None:
    """Print one line without wrapping."""
    Console().print(line, markup=False, highlight=False, soft_wrap=True)


def show(parts: Iterable[RenderableType]) -> None:
    """Print tables, and lines without wrapping."""
    console = Console()
    for part in parts:
        console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))


def write_json(file: Path, data: Any) -> None:
    """Write the file of --json."""
    from polyprobe.system.files import write_text

    text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    write_text(file, text, "choose another --json")

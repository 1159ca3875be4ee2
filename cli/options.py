"""Options that several commands share, their checks, and what they print and write."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, dataclass, fields, make_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args

import typer
from rich.console import RenderableType

from polyprobe.eval.options import check_languages
from polyprobe.report.pictures import LABELS, ORDERS, check_figure
from polyprobe.schema.languages import parse_languages, split_list
from polyprobe.scoring.options import FREE
from polyprobe.system.files import write_text
from polyprobe.system.messages import Console, check_ending, check_option
from polyprobe.system.options import LARGEST, Declaration, Options, collect_options, option

if TYPE_CHECKING:
    from polyprobe.metrics.pictures.picture import Picture
    from polyprobe.report.finding import Finding

Dataset = Annotated[str, typer.Option(help="Folder, name, or OWNER/NAME on the Hub.")]
PICTURES = "Pictures for papers"
_picture = partial(option, panel=PICTURES, needs="--figure FILE")
# The parts of the help of a command, in order.
PANELS = (
    *("", "Model", "Served models", "Chat", "Workers", f"Free decoding (--scoring {FREE})"),
    *("Sentences of the source", "Translated templates"),
)
Function = TypeVar("Function", bound=Callable[..., Any])
_Value = TypeVar("_Value")


def take_options(*groups: type[Options]) -> Callable[[Function], Function]:
    """Give a command the options of groups: made, as its argument `options`, or as keywords."""
    group = make_dataclass("CommandOptions", [], bases=groups, frozen=True)
    declared = collect_options(group)

    # Checked when the group is made, not by typer: a mistake has the same words as in a script.
    def change(function: Function) -> Function:
        parts = signature(function, eval_str=True).parameters.values()
        new = declared.keys() - signature(function).parameters.keys()
        options = [_make_parameter(x, declared[x.name]) for x in fields(group) if x.name in new]
        panels = list(dict.fromkeys([*PANELS, *(x.panel for x in declared.values())]))
        options.sort(key=lambda part: panels.index(declared[part.name].panel))
        parameters = [x for x in parts if x.kind is not x.VAR_KEYWORD and x.name != "options"]
        is_made = any(x.name == "options" and x.kind is not x.VAR_KEYWORD for x in parts)

        # Not in callbacks of typer, which makes a list of whatever they return.
        @wraps(function)
        def call(**values: Any) -> Any:
            for part in fields(group):
                parse = declared[part.name].parse if part.name in declared else None
                if parse:
                    values[part.name] = parse(list(values[part.name] or ())) or part.default
            if is_made:
                values["options"] = group(**{x: values.pop(x) for x in declared.keys() & values})
            return function(**values)

        call.__signature__ = Signature(  # type: ignore[attr-defined]
            [part.replace(kind=Parameter.KEYWORD_ONLY) for part in parameters] + options
        )
        return cast("Function", call)

    return change


def _make_parameter(part: "Field[Any]", declaration: Declaration) -> Parameter:
    """Make the parameter of a command for the field of a declaration."""
    keywords: dict[str, Any] = {"help": declaration.help, "metavar": declaration.metavar}
    keywords |= {"rich_help_panel": declaration.panel} if declaration.panel else {}
    types = (part.type, *get_args(part.type))
    kind: Any = next((x for x in (Path, bool, int, float) if x in types), str)
    if declaration.parse:
        kind = list[str]
    elif declaration.minimum is not None:
        limits = f"{declaration.minimum}<=x<={declaration.maximum}"
        limits = f"x>={declaration.minimum}" if declaration.maximum == LARGEST else limits
        keywords["metavar"] = f"<{kind.__name__} range> [{limits}]"
    switch = part.default is True or part.type == bool | None
    words = [f"{declaration.flag}/--no-{declaration.flag[2:]}" if switch else declaration.flag]
    info = typer.Option(part.default, *words, **keywords)
    kind = kind | None if part.default is None else kind
    return Parameter(part.name, Parameter.KEYWORD_ONLY, default=info, annotation=kind)


def checked(check: Callable[[_Value], None]) -> Callable[[_Value | None], _Value | None]:
    """Make the callback of an option whose value a function refuses, before slow imports."""

    def call(value: _Value | None) -> _Value | None:
        if value is not None:
            check(value)
        return value

    return call


def one_of(flag: str, names: Collection[str]) -> Callable[[Any], Any]:
    """Make the callback of an option or argument that accepts only known names, see `checked`."""

    def check(value: str | list[str]) -> None:
        # options that may be repeated are lists with commas
        for text in [value] if isinstance(value, str) else split_list(value):
            check_option(flag, text, names)

    return checked(check)


def parse_splits(text: str | None) -> list[str] | None:
    """Write languages as names of splits, with underscores; None, for all, stays None."""
    if text is None:
        return None
    check_languages(text)
    return [code.replace("-", "_") for code in parse_languages(text)]


def say(*lines: RenderableType) -> None:
    """Print tables, and lines without wrapping."""
    for line in lines:
        Console().print(line, soft_wrap=isinstance(line, str))


@dataclass(frozen=True)
class PictureOptions(Options):
    """A picture in a file."""

    figure: Path | None = option(
        None,
        "Save a picture to this .svg, .pdf or .png file (the last two: extra `figures`).",
        panel=PICTURES,
        check=check_figure,
    )
    draw: str | None = _picture(
        None,
        "Name of the picture that --figure saves (default: the first); an unknown one lists all.",
    )
    order: str = ORDERS[0]  # an option of pictures of languages, see `MapOptions`
    names: str = LABELS[0]

    def save(self, pictures: "Mapping[str, Picture]") -> None:
        """Save the named picture (default: the first), and print the name of its file."""
        if self.figure is None:
            return
        from polyprobe.report.pictures.draw import save_picture
        from polyprobe.report.pictures.order import arrange

        name = next(iter(pictures)) if self.draw is None else self.draw
        check_option("--draw", name, pictures)
        save_picture(arrange(pictures[name], self.order), self.figure, self.names == "names")
        say(f"figure: {self.figure} ({name})")


@dataclass(frozen=True)
class MapOptions(PictureOptions):
    """Pictures of languages, in an order and with labels."""

    order: str = _picture(
        ORDERS[0],
        "Order of languages in the picture: given, similarity (clusters), family or script.",
        choices=ORDERS,
    )
    names: str = _picture(
        LABELS[0], "Labels of the languages in the picture: codes or names.", choices=LABELS
    )


@dataclass(frozen=True)
class PageOptions(Options):
    """A page in a file."""

    page: Path | None = option(
        None,
        "Write an HTML report to this file.",
        flag="--output",
        metavar="FILE",
        check=lambda file: check_ending("--output", file, (".html",)),
    )


@dataclass(frozen=True)
class Outputs(Options):
    """Files that a command writes beside its text."""

    json_file: Path | None = option(
        None, "Write all figures to this file as JSON.", flag="--json", metavar="FILE"
    )

    def write(
        self,
        finding: "Finding",
        as_json: Callable[[], Any],
        write_page: "Callable[[Finding, Path], Any] | None" = None,
    ) -> None:
        """Print a finding, and write the files that were named; the page is that of the finding."""
        from polyprobe.report.show import render

        say(*render(finding, Console().width))
        if self.json_file:
            text = json.dumps(as_json(), ensure_ascii=False, indent=1) + "\n"
            write_text(self.json_file, text, "choose another --json")
        if isinstance(self, PageOptions) and self.page:
            from polyprobe.report.page.page import write_finding

            (write_page or write_finding)(finding, self.page)
            say(f"report: {self.page}")
        if isinstance(self, PictureOptions) and self.figure:
            self.save(finding.pictures)


@dataclass(frozen=True)
class PageOutputs(PageOptions, PictureOptions, Outputs):
    """Also a picture and a page."""

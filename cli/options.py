"""Options that several commands share, their checks, and their output of one line."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console, RenderableType

from polyprobe.analysis.figures import CLUSTERS
from polyprobe.report.pictures import LABELS, ORDERS
from polyprobe.schema.names import parse_exclude, split_list
from polyprobe.system.errors import PolyprobeError, check_ending, check_option

if TYPE_CHECKING:
    from polyprobe.report.pictures.picture import Picture
    from polyprobe.schema.run.rows import Choice


PICTURES = "Pictures for papers"
_Value = TypeVar("_Value")


def example(line: str) -> str:
    """Return the epilog of a command's help."""
    return f"Example: {line}"


def one_of(known: Collection[str]) -> Callable[[typer.CallbackParam, Any], Any]:
    """Return the callback of an option or argument that accepts only known names.

    Options that may be repeated are lists with commas.

    It is called while the command line is read, before a command imports anything.
    """

    def check(parameter: typer.CallbackParam, value: Any) -> Any:
        for text in [value] if isinstance(value, str) else split_list(value):
            check_option(parameter.opts[0], text, known)
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
    from polyprobe.schema.locate import check_named

    check_named(name)


def check_page_file(file: Path) -> None:
    """Refuse a file that is not named like a page."""
    check_ending("--output", file, (".html",))


def check_figure_file(file: Path) -> None:
    """Refuse a file name with another ending, and PDF or PNG without their writer."""
    from polyprobe.report.pictures.draw import check_figure

    check_figure(file)


Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Resamples = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=10_000_000,
        help="Number of bootstrap resamples for the 95% intervals: 40 or more, or 0 for none.",
        show_default="10,000 up to 50,000 facts x pairs of languages, else 1,000",
    ),
]
Cluster = Annotated[
    str,
    typer.Option(
        callback=one_of(CLUSTERS),
        help="Resampling unit: subject, relation, none (each fact), or auto: subject if the fact "
        "ids name it, else none.",
    ),
]
Relations = Annotated[
    str | None, typer.Option(help="Use only the rows of these relations, comma-separated.")
]
Exclude = Annotated[
    str | None,
    typer.Option(help="Exclude rows of these relations or with these flags (default: none)."),
]

JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write all figures to this file as JSON."),
]
PageFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        callback=checked(check_page_file),
        help="Write an HTML report to this file.",
    ),
]
FigureFile = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        callback=checked(check_figure_file),
        help="Save a picture to this .svg, .pdf or .png file (the last two: extra `figures`).",
        rich_help_panel=PICTURES,
    ),
]
DrawnName = Annotated[
    str | None,
    typer.Option(
        "--draw",
        help="Name of the picture that --figure saves; an unknown name lists all names.",
        show_default="the first picture",
        rich_help_panel=PICTURES,
    ),
]
Order = Annotated[
    str,
    typer.Option(
        "--order",
        callback=one_of(ORDERS),
        help="Order of languages in the picture: given, similarity (clusters), family or script.",
        rich_help_panel=PICTURES,
    ),
]
LanguageNames = Annotated[
    str,
    typer.Option(
        "--names",
        callback=one_of(LABELS),
        help="Labels of the languages in the picture: codes or names.",
        rich_help_panel=PICTURES,
    ),
]


def check_drawn(
    figure: Path | None, draw: str | None, order: str = "given", names: str = "codes"
) -> None:
    """Refuse options of the picture without --figure."""
    usual = {"--draw": (draw, None), "--order": (order, "given"), "--names": (names, "codes")}
    given = [option for option, (value, default) in usual.items() if value != default]
    if given and figure is None:
        raise PolyprobeError(f"{given[0]} requires --figure FILE")


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


def parse_languages(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return language codes in the spelling of cards and sources, with hyphens.

    >>> parse_languages("en, zh_hans"), parse_languages(["en,fr", "zh-hans"])
    (('en', 'zh-hans'), ('en', 'fr', 'zh-hans'))
    """
    return tuple(dict.fromkeys(item.replace("_", "-") for item in split_list(texts)))


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


def parse_choice(relations: str | None, exclude: str | None) -> "Choice":
    """Return the choice of scored rows; all by default."""
    from polyprobe.schema.run.rows import make_choice

    only = None if relations is None else split_list(relations)
    return make_choice(only, parse_exclude(exclude))


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

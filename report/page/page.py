"""Write HTML files that open without a network: templates, styles and scripts of all pages."""

from math import isnan
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from polyprobe.report.format import format_interval, format_p_value, number
from polyprobe.system.errors import check_ending
from polyprobe.system.files import write_text

HERE = Path(__file__).parent
DIGITS = 5  # significant ones of the values that a page draws


def check_output(output: Path) -> None:
    """Refuse a file that is not named like a page.

    Raises:
        PolyprobeError: another ending than .html.
    """
    check_ending("--output", output, (".html",))


def write_page(output: Path, name: str, **values: Any) -> None:
    """Write the page of `NAME.html` and `NAME.js`, with styles and scripts inside.

    Args:
        output: the HTML file.
        name: of a template and a script in this folder.
        values: variables of the template, among them `title` and `data`, the JSON of the script.

    Raises:
        PolyprobeError: the file cannot be written, or has another ending than .html.
    """
    check_output(output)
    scripts = (HERE / file for file in ("chart.js", f"{name}.js"))
    text = (
        make_environment()
        .get_template(f"{name}.html")
        .render(
            **values,
            style=(HERE / "report.css").read_text(encoding="utf-8"),
            script="\n".join(path.read_text(encoding="utf-8") for path in scripts),
        )
    )
    write_text(output, text, "choose another --output")


def round_drawn(value: float | None) -> float | None:
    """Return a value with `DIGITS` digits, None for NaN, which JSON lacks."""
    return None if value is None or isnan(value) else float(f"{value:.{DIGITS}g}")


def make_environment() -> Environment:
    """Return Jinja2 with autoescape, our templates, and filters for figures."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    environment.filters |= {
        "number": number,
        "interval": format_interval,
        "p_value": format_p_value,
        "percent": lambda value: "–" if value is None else f"{100 * value:.1f}%",
        "thousands": lambda value: f"{value:,}",
    }
    return environment

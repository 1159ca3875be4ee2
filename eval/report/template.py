"""Render HTML pages from Jinja2 templates, each one file that opens without a network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from polyprobe.eval.results.table import interval, number, p_value
from polyprobe.system.extras import missing
from polyprobe.system.files import write_whole

HERE = Path(__file__).parent


def write_page(output: Path, template: Path, scripts: Sequence[Path], **values: Any) -> None:
    """Write a page that extends page.html, with its styles and scripts inside.

    Args:
        output: the HTML file.
        template: file of the template; it finds those of this folder too.
        scripts: JavaScript files to embed behind plotly.
        values: variables of the template, among them `title` and `data`, the JSON of the scripts.

    Raises:
        PolyprobeError: plotly is not installed, or the file cannot be written.
    """
    text = (
        make_environment(template.parent)
        .get_template(template.name)
        .render(
            **values,
            plotly=read_plotly(),
            style=(HERE / "report.css").read_text(encoding="utf-8"),
            script="\n".join(path.read_text(encoding="utf-8") for path in scripts),
        )
    )
    write_whole(
        Path(output),
        lambda part: part.write_text(text, encoding="utf-8"),
        "choose another --output",
    )


def make_environment(folder: Path = HERE) -> Environment:
    """Return Jinja2 with autoescape, our templates, and filters for figures."""
    environment = Environment(
        loader=FileSystemLoader([folder, HERE]),
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
        "interval": interval,
        "p_value": p_value,
        "percent": lambda value: "–" if value is None else f"{100 * value:.1f} %",
        "thousands": lambda value: f"{value:,}",
    }
    return environment


def read_plotly() -> str:
    """Return the source of plotly.js."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise missing("the report", "plotly") from None
    return get_plotlyjs()

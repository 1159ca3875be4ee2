"""The page of every Space: a table or files as input, figures and a picture as output."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import quote

import evaluate

from polyprobe.metrics.pictures.picture import Picture
from polyprobe.metrics.pictures.svg import draw_svg
from polyprobe.metrics.space.entries import Entry, Output, show_interval, write_csv, write_headline
from polyprobe.metrics.space.sheet import SUFFIXES, Sheets, read_sheets

_HEADERS = ["of", "figure", "value", "95% interval", "chance", "n"]
_KEPT = (600, 3600)  # seconds: interval between clean-ups, maximum age of an uploaded file
_REMARKS = """\
n: number of queries that a value is taken over. If all of them have the same value, the interval of
a figure that is no share (a difference, a rank, κ, a value adjusted for chance) has no width; this
is not certainty.

Your input is processed in this Space only; files are deleted after an hour. A file replaces the
table.
"""
# The colours of pictures have a contrast of at least 3 to a white and to a black page.
_STYLE = """
.picture {
  --ink: var(--body-text-color); --line: rgba(128, 128, 128, .4); --card: rgba(128, 128, 128, .15);
  --bar-0: #2f86c9; --bar-1: #c77700; --bar-2: #159570; --bar-3: #b3589a; --bar-4: #7b828e;
  overflow-x: auto; max-width: 100%;
}
.picture svg { max-width: 100%; height: auto; zoom: 1.5; }
.download { text-decoration: underline; }
.paste textarea { font-family: var(--font-mono); font-size: 13px; white-space: pre; }
"""


class Page(NamedTuple):
    """A Space: its texts, from space.md, its computation and its picture."""

    title: str
    question: str  # that the metric answers, and the expected table, Markdown
    reading: str  # how to read value, interval, chance and picture, Markdown
    examples: Mapping[str, str]  # name → table; the page opens with the first, the card's
    compute: Callable[..., Output]  # from tables (by file name) and the options of `choices`
    view: Callable[[Sequence[Entry]], Picture]
    choices: Mapping[str, Sequence[str]]  # option → allowed values, the default first
    several: bool  # whether several files can be uploaded, one for each language


def make_page(
    app: str,
    name: str,
    compute: Callable[..., Output],
    view: Callable[..., Picture],
    choices: Mapping[str, Sequence[str]] = {},
    several: bool = False,
) -> Page:
    """Make the page of a metric's app.py, with space.md beside it; serve it if it is the program.

    `compute` takes the metric's formulas, tables and `choices`; the others are as in `Page`.
    """
    text = Path(app).with_name("space.md").read_text(encoding="utf-8")
    # title, question, a heading, reading, then name and table of each example
    _, title, question, _, reading, *examples = re.split(r"^#+ (.+)\n", text, flags=re.MULTILINE)
    tables = [block.strip().strip("`").removeprefix("csv\n") for block in examples[1::2]]
    by_name = dict(zip(examples[::2], tables, strict=True))

    defaults = {option: values[0] for option, values in choices.items()}

    def measure(sheets: Sheets, **options: str) -> Output:
        return compute(load_formulas(app, name), sheets, **defaults | options)

    texts = (title, question.strip(), reading.strip(), by_name)
    page = Page(*texts, measure, view, choices, several)
    if compute.__module__ == "__main__":
        serve(page)
    return page


@cache
def load_formulas(app: str, name: str) -> ModuleType:
    """Load the module formulas.py in the folder of an app.py, by `evaluate`."""
    # In a Space it has relative imports, for `evaluate`, so app.py cannot import it. The Hub runs
    # every Space in a folder called `app`: its name does not show the metric.
    metric = evaluate.load(str(Path(app).resolve().with_name(f"{name}.py")), keep_in_memory=True)
    return sys.modules[metric.measure.__module__]


def serve(page: Page) -> None:
    """Build the page and serve it, at the address that a Space expects, until interrupted."""
    footer = ["api", "gradio", "settings"]
    build(page).launch(css=_STYLE, max_file_size="200mb", run_history=False, footer_links=footer)


def build(page: Page) -> Any:
    """Build the page as gradio's Blocks (requires gradio)."""
    import gradio as gr

    kinds = ", ".join(suffix.lstrip(".").upper() for suffix in SUFFIXES if suffix != ".txt")
    count = "multiple" if page.several else "single"
    with gr.Blocks(title=page.title, analytics_enabled=False, delete_cache=_KEPT) as blocks:
        gr.Markdown(f"# {page.title}\n{page.question}")
        with gr.Row():
            with gr.Column():
                names = [*page.examples]
                first = page.examples[names[0]]
                text = gr.Textbox(first, lines=9, max_lines=18, label="table", elem_classes="paste")
                if len(names) > 1:
                    example = gr.Radio(names, value=names[0], label="example")
                    example.input(page.examples.get, example, text, api_visibility="private")
                file = gr.File(
                    label=f"or a file: {kinds}", file_count=count, file_types=SUFFIXES, height=150
                )
            with gr.Column():
                choices = page.choices.items()
                inputs = [gr.Dropdown(list(x), value=x[0], label=name) for name, x in choices]
                button = gr.Button("Compute", variant="primary")
                gr.Markdown(f"{page.reading}\n\n{_REMARKS}")
        with gr.Column(visible=False) as result:
            head = gr.Markdown(elem_classes="headline")
            # an SVG takes the colours of the theme; an image of gr.Image would not
            plot = gr.HTML(elem_classes="picture")
            table = gr.Dataframe(
                headers=_HEADERS, label="figures", interactive=False, max_height=400
            )
            download = gr.HTML(padding=False)
        outputs = [result, head, plot, table, download]
        button.click(partial(_run, page), [text, file, *inputs], outputs, api_name="compute")
    return blocks


def _run(page: Page, text: str, files: Any, *values: str) -> tuple[Any, ...]:
    """Compute the contents of the outputs; an error in the input is a message of one line."""
    import gradio as gr
    import pandas as pd

    try:
        sheets = read_sheets(text, [files] if isinstance(files, str) else files)
        output = page.compute(sheets, **dict(zip(page.choices, values, strict=True)))
    except (ValueError, TypeError) as error:
        line = " ".join(str(error).split())
        raise gr.Error(line, duration=20, print_exception=False) from error
    entries = output.entries
    # A link that contains the file: the server keeps none.
    link = (
        f'<a class="download" download="{"_".join(page.title.lower().split())}.csv" '
        f'href="data:text/csv;charset=utf-8,{quote(write_csv(entries))}">'
        "Download the figures as CSV</a>"
    )
    # four decimals are shown; the table sorts by the full numbers
    rows = [(e.label, e.name, e.value, show_interval(e.interval), e.chance, e.n) for e in entries]
    numbers = dict.fromkeys(("value", "chance"), "{:.4f}")
    frame = pd.DataFrame(rows, columns=_HEADERS).astype(dict.fromkeys(numbers, float))
    table = frame.style.format(numbers, na_rep="–")
    picture = draw_svg(page.view(entries), title=False)
    return gr.Column(visible=True), write_headline(output), picture, table, link

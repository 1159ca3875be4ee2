"""The page that the Spaces of the metrics share: a table or a file in, figures and a picture out.

The folders of metrics/ hold this file as a link, so that each of them is whole.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import quote

import evaluate

from polyprobe.metrics.space.answer import HEADERS, Answer, Figure, tabulate, tell, write_csv
from polyprobe.metrics.space.sheet import SUFFIXES, read_sheets

_KEPT = (600, 3600)  # seconds: how often files are looked through, and how old they may become
_REMARKS = """\
n: the queries that a value is taken over. An interval without width, where all of them have the
same value, is not certainty.

What you paste or choose is worked on in this Space alone; files are deleted after an hour. A file
is read in place of the table.
"""
# The pictures do not know whether the page is light or dark, or how wide; the page does.
_STYLE = """
.js-plotly-plot :is(.xtick, .ytick, .cbaxis, .legendtext, .annotation-text, .gtitle, .xtitle,
  .ytitle) text, .js-plotly-plot text:is(.legendtext, .annotation-text, .xtitle, .ytitle),
.js-plotly-plot [class*="title"] text {
  fill: var(--body-text-color) !important;
}
.js-plotly-plot .errorbar path { stroke: var(--body-text-color) !important; }
/* plotly fits numbers into their cells; what is too small to be read is in the table and hover */
.heatmap-label text:is(
  [style*="font-size: 1px"], [style*="font-size: 2px"], [style*="font-size: 3px"],
  [style*="font-size: 4px"], [style*="font-size: 5px"], [style*="font-size: 6px"],
  [style*="font-size: 7px"], [style*="font-size: 8px"]
) { display: none; }
.picture { max-width: 760px; }
.download { text-decoration: underline; }
.paste textarea { font-family: var(--font-mono); font-size: 13px; white-space: pre; }
"""


class Page(NamedTuple):
    """What a Space shows beside the figures.

    Attributes:
        title: the metric's name.
        ask: the question that it answers and the table that it takes, Markdown.
        reading: how to read value, interval, chance and picture, Markdown.
        examples: name to table; the first stands in the page, as in the metric's card.
        draw: from figures to a plotly picture.
        choices: keyword of the computation to what may be chosen, the default first.
        several: whether several files can be chosen, a language each.
    """

    title: str
    ask: str
    reading: str
    examples: Mapping[str, str]
    draw: Callable[[Sequence[Figure]], Any]
    choices: Mapping[str, Sequence[str]] = {}
    several: bool = False


@cache
def load_beside(app: str) -> ModuleType:
    """Return the module beside an app.py, whose path is given, as `evaluate` loads it."""
    folder = Path(app).resolve().parent
    metric = evaluate.load(str(folder / f"{folder.name}.py"), keep_in_memory=True)
    return sys.modules[type(metric).__module__]


def serve(page: Page, compute: Callable[..., Answer]) -> None:
    """Build the page and serve it until it is stopped, at the address that a Space expects."""
    build(page, compute).launch(
        css=_STYLE,
        max_file_size="200mb",
        run_history=False,
        footer_links=["api", "gradio", "settings"],
    )


def build(page: Page, compute: Callable[..., Answer]) -> Any:
    """Return the page as gradio's Blocks (gradio needed here)."""
    import gradio as gr

    known = ", ".join(suffix.lstrip(".").upper() for suffix in SUFFIXES if suffix != ".txt")
    count = "multiple" if page.several else "single"
    with gr.Blocks(title=page.title, analytics_enabled=False, delete_cache=_KEPT) as blocks:
        gr.Markdown(f"# {page.title}\n{page.ask}")
        with gr.Row():
            with gr.Column():
                first = next(iter(page.examples.values()))
                text = gr.Textbox(first, lines=9, max_lines=18, label="table", elem_classes="paste")
                if len(page.examples) > 1:
                    names = list(page.examples)
                    chosen = gr.Radio(names, value=names[0], label="example")
                    chosen.input(page.examples.get, chosen, text, api_visibility="private")
                file = gr.File(
                    label=f"or a file: {known}", file_count=count, file_types=SUFFIXES, height=150
                )
            with gr.Column():
                inputs = [
                    gr.Dropdown(list(values), value=values[0], label=name)
                    for name, values in page.choices.items()
                ]
                button = gr.Button("Compute", variant="primary")
                gr.Markdown(f"{page.reading}\n\n{_REMARKS}")
        with gr.Column(visible=False) as result:
            head = gr.Markdown(elem_classes="headline")
            plot = gr.Plot(show_label=False, container=False, buttons=[], elem_classes="picture")
            table = gr.Dataframe(
                headers=HEADERS, label="figures", interactive=False, max_height=400
            )
            download = gr.HTML(padding=False)
        outputs = [result, head, plot, table, download]
        button.click(
            lambda *values: _answer(page, compute, *values),
            [text, file, *inputs],
            outputs,
            api_name="compute",
        )
    return blocks


def _answer(
    page: Page, compute: Callable[..., Answer], text: str, files: Any, *values: str
) -> tuple[Any, ...]:
    """Return what the parts of the page show; a mistake in the input is one line in its corner."""
    import gradio as gr

    try:
        sheets = read_sheets(text, [files] if isinstance(files, str) else files)
        answer = compute(sheets, **dict(zip(page.choices, values, strict=True)))
    except (ValueError, TypeError) as error:
        line = " ".join(str(error).split())
        raise gr.Error(line, duration=20, print_exception=False) from error
    shown, link = gr.Column(visible=True), _link(page.title, write_csv(answer.figures))
    return shown, tell(answer), page.draw(answer.figures), _style(answer), link


def _link(title: str, text: str) -> str:
    """Return a link that holds the file, so that none has to be kept for it."""
    name = "_".join(title.lower().split())
    return (
        f'<a class="download" download="{name}.csv" href="data:text/csv;charset=utf-8,'
        f'{quote(text)}">Download the figures as CSV</a>'
    )


def _style(answer: Answer) -> Any:
    """Return the table with four decimals shown and numbers beneath, by which it can be sorted."""
    import pandas as pd

    frame = pd.DataFrame(tabulate(answer.figures), columns=HEADERS)
    numbers = dict.fromkeys(("value", "chance"), "{:.4f}")
    return frame.astype(dict.fromkeys(numbers, float)).style.format(numbers, na_rep="–")

"""Write a template run and its sentence twin as one HTML file: curves, boxes, tables."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from polyprobe.eval.report.page import POLICY, _own, _plotly
from polyprobe.eval.report.sections import _options, _table, percent
from polyprobe.eval.results.table import interval, number, p_value
from polyprobe.metrics.joint.averages import Averages, Paired
from polyprobe.system.files import write_whole

from .compare import TwinComparison, Twins
from .table import DIRECTION, as_json, list_figures, list_notes

OPEN = ("recall@1", "mean_rank")  # the tables that are shown at once
HEAD = ["language", "sentence", "95 %", "template", "95 %", DIRECTION, "95 %", "p"]
MEANINGS = """<details><summary>What the figures mean</summary><dl>
<dt>recall@k</dt><dd>share of facts with a right answer among the k best-scored candidates; ties
count with their probability.</dd>
<dt>mean rank</dt><dd>of the best-scored right answer, from 1; lower is better.</dd>
<dt>macro, micro</dt><dd>the mean over relations, each alike (Fluent-mLAMA), and over facts.</dd>
<dt>inflection delta</dt><dd>by how many ranks the inflected form of the answer stands above its
label.</dd>
<dt>feminine verb forms</dt><dd>their share of the verb forms with a gender, where the subject is a
woman.</dd>
<dt>QE</dt><dd>COMET’s estimate of how well the text translates the English sentence.</dd>
</dl></details>"""


def write_page(
    twins: Twins, found: TwinComparison, options: Mapping[str, Any], output: Path
) -> None:
    """Write what sentences change as one file that opens without a network.

    Raises:
        PolyprobeError: plotly is not installed, or there is no place to write.
    """
    text = _page(twins, found, options, _plotly())
    write_whole(
        output, lambda part: part.write_text(text, encoding="utf-8"), "choose another --output"
    )


def _page(twins: Twins, found: TwinComparison, options: Mapping[str, Any], plotly: str) -> str:
    settings = twins.sentence.settings()
    title = f"polyprobe: {settings.model_name} on {settings.data_name}"
    signatures = "".join(
        f'<p class="signature">{side}: <code>{escape(run.settings().signature)}</code></p>'
        for side, run in (("sentence", twins.sentence), ("template", twins.template))
    )
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title><style>{_own('report.css')}</style></head><body><main>",
            f"<header><h1>{escape(title)}</h1>{_summary(found)}{MEANINGS}{signatures}</header>",
            "<noscript><p class='note'>The pictures need JavaScript.</p></noscript>",
            _pictures(found),
            *_tables(found, options),
            *(f'<p class="note">{escape(line)}</p>' for line in list_notes(found)),
            f'</main><script type="application/json" id="data">{_embed(found)}</script>',
            f"<script>{plotly}</script>\n<script>{_own('plot.js')}\n{_own('twins.js')}</script>"
            "</body></html>\n",
        ]
    )


def _summary(found: TwinComparison) -> str:
    """Return what came out in one sentence, as HTML."""
    mean = found.ranks["recall@1"]["macro"][-1]
    count = len(found.languages)
    over = f"mean over {count} languages" if count > 1 else escape(found.languages[0])
    return (
        f'<p class="answer">A right answer comes first in <strong>{percent(mean.first)}</strong> '
        f"of the sentences and in <strong>{percent(mean.second)}</strong> of the templates "
        f"({over}, of {found.n_queries:,} rows, relations alike); difference "
        f"{number(mean.difference)}, 95 % interval {interval(mean.ci)}.</p>"
    )


def _pictures(found: TwinComparison) -> str:
    choices = _options(("mean", *found.languages), "mean")
    key = "".join(
        f'<span><i class="bar-{index}"></i> {side}</span>'
        for index, side in enumerate(("sentence", "template"))
    )
    return (
        f'<section><h2>Recall@k</h2><p class="key">{key}</p>'
        '<p class="hint">Bands: 95 % of each wording by itself; whether the two differ stands in '
        "the tables. Relations count alike (macro).</p>"
        f'<p class="chooser"><label>language <select class="curve">{choices}</select></label></p>'
        '<div class="scroll" tabindex="0"><div class="figure" id="curve" role="img" '
        'aria-label="recall at k of both wordings with 95 % bands"></div></div>'
        '<h2>Ranks of the best right answer</h2><p class="hint">Box: quartiles and median; broken '
        "line: mean; whiskers: the last ranks within 1.5 box lengths. Facts count alike (micro). "
        '1 is best.</p><div class="scroll" tabindex="0">'
        '<div class="figure" id="boxes" role="img" aria-label="box plots of ranks by language and '
        'wording; a table stands below"></div></div></section>'
        + _fold("The boxes as a table", _boxes(found))
    )


def _boxes(found: TwinComparison) -> str:
    rows = (
        [escape(language), side, *(f"{value:.2f}" for value in box)]
        for language, boxes in found.boxes.items()
        for side, box in zip(("sentence", "template"), boxes, strict=True)
    )
    head = ["language", "wording", "low", "q1", "median", "q3", "high", "mean"]
    return _table(head, rows, words=2)


def _tables(found: TwinComparison, options: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"<h2>All differences</h2><p>{DIRECTION}; intervals: paired bootstrap of facts, clusters: "
        f"{escape(str(options['clusters']))}; p: {escape(str(options['test']))}, "
        f"{options['n_resamples']:,} resamples, correction over languages: "
        f"{escape(str(options['correction']))}.</p>"
    )
    for name, averages in list_figures(found).items():
        yield _fold(name, _figure(averages), opened=name in OPEN)


def _figure(averages: Averages) -> str:
    return "".join(
        f"<h4>{average}</h4>{_table(HEAD, map(_cells, rows))}" for average, rows in averages.items()
    )


def _cells(row: Paired) -> list[str]:
    pairs = ((row.first, row.first_ci), (row.second, row.second_ci), (row.difference, row.ci))
    cells = (cell for value, bounds in pairs for cell in (number(value), interval(bounds)))
    return [escape(row.name), *cells, p_value(row.p_adjusted)]


def _fold(title: str, content: str, opened: bool = False) -> str:
    state = " open" if opened else ""
    return f"<details{state}><summary>{escape(title)}</summary>{content}</details>"


def _embed(found: TwinComparison) -> str:
    """Return what the script draws as JSON that cannot end its script element."""
    values = as_json(found)
    curves = [figure["macro"] for name, figure in values["ranks"].items() if "@" in name]
    drawn = {"languages": found.languages, "curves": curves, "boxes": values["boxes"]}
    text = json.dumps(drawn, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")

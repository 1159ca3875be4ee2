"""The report's HTML that needs no script: sentences, tables, places for the figures."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import combinations
from typing import Any, NamedTuple

from polyprobe.eval.results.table import interval, number
from polyprobe.eval.run.settings import Settings

MEASURES = {"rankc": "RankC", "rankc_adjusted": "adjusted RankC", "coverlap": "COverlap"}
MEANS = {
    **MEASURES,
    "agreement": "agreement: the same answer in both languages",
    "rankc_excess": "RankC less what the two accuracies alone give",
    "rankc_right_right": "RankC, both languages right",
    "rankc_right_wrong": "RankC, one of them right",
    "rankc_wrong_wrong": "RankC, both wrong",
    "rbo": "RBO (p = .9)",
    "kendall_tau_b": "Kendall’s τ-b",
}
JOINT = {
    "fleiss_kappa": "Fleiss’ κ over all languages",
    "right_in_all": "facts right in all languages",
    "right_in_any": "facts right in at least one",
}
PAIRS = 10

MEANINGS = """<details><summary>What the figures mean</summary><dl>
<dt>accuracy</dt><dd>share of facts whose right answer gets the best score among the
candidates.</dd>
<dt>RankC</dt><dd>how far a model ranks the candidates of a fact alike in two languages, the best
ranks weighing most; 1 is the same ranking, right or wrong.</dd>
<dt>adjusted RankC</dt><dd>the same with chance taken out: 0 is what independent rankings give,
1 is the same ranking.</dd>
<dt>COverlap</dt><dd>facts right in both languages, as a share of those right in either.</dd>
<dt>tie</dt><dd>several candidates share the best score, so that there is no one answer; such
a fact neither agrees nor differs.</dd></dl></details>"""


class RunPart(NamedTuple):
    """What the page knows of one run."""

    name: str
    settings: Settings
    results: dict[str, Any]
    examples: dict[str, Any]


def percent(value: float | None) -> str:
    """Return a share in per cent, `–` where it is undefined."""
    return "–" if value is None else f"{100 * value:.1f} %"


def summary(part: RunPart) -> str:
    """Return the run's answer in one sentence, as HTML."""
    results, languages = part.results, len(part.results["languages"])
    over = f"averaged over {languages} languages" if languages > 1 else "in one language"
    sentence = (
        f"<strong>{escape(part.name)}</strong> gets "
        f"<strong>{percent(results['mean']['accuracy'])}</strong> of "
        f"{results['n_queries']:,} facts right, {over} "
        f"(guessing: {percent(results['chance']['accuracy'])})"
    )
    if results["mean"]["rankc_adjusted"] is None:
        return f"{sentence}."
    return (
        f"{sentence}; its rankings agree between languages with an adjusted RankC of "
        f"<strong>{number(results['mean']['rankc_adjusted'])}</strong> "
        "(0 is chance, 1 the same ranking)."
    )


def ranked_pairs(results: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of languages that have a RankC, the highest first, equal ones in order."""
    values = results["rankc"]
    pairs = [p for p in combinations(results["languages"], 2) if values["-".join(p)] is not None]
    return sorted(pairs, key=lambda pair: -values["-".join(pair)])


def comparison(parts: Sequence[RunPart]) -> str:
    """Return the part that sets several runs side by side."""
    rows = (
        [
            f'<a href="#run-{index}">{escape(part.name)}</a>',
            escape(part.settings.data_name),
            escape(part.settings.scoring),
            str(len(part.results["languages"])),
            f"{part.results['n_queries']:,}",
            *(number(part.results["mean"][key]) for key in ("accuracy", *MEASURES)),
            number(part.results["chance"]["accuracy"]),
            number(part.results["chance"]["rankc"]),
        ]
        for index, part in enumerate(parts)
    )
    key = " ".join(
        f'<span><i class="bar-{index % 5}"></i> {escape(part.name)}</span>'
        for index, part in enumerate(parts)
    )
    head = ["run", "data", "scoring", "languages", "facts", "accuracy", *MEASURES.values()]
    return (
        f"<section><h2>Side by side</h2>{_caution(parts)}"
        f"{_table([*head, 'chance: accuracy', 'chance: RankC'], rows, words=3)}"
        f'<h3>Accuracy by language</h3><p class="key">{key}</p><div class="scroll" tabindex="0">'
        '<div class="figure" id="accuracy-all" role="img" aria-label="accuracy by language, '
        'all runs"></div></div></section>'
    )


def run_section(index: int, part: RunPart, heading: str) -> str:
    """Return one run's part of the page."""
    parts = [
        f'<section class="run" id="run-{index}" data-run="{index}">{heading}',
        f'<p class="signature"><code>{escape(part.results["signature"])}</code></p>',
        f"{_left_out(part.results)}<h3>Accuracy</h3>",
        '<div class="scroll" tabindex="0"><div class="figure accuracy" role="img" '
        'aria-label="accuracy by language; the figures stand in the table below"></div></div>',
        _language_table(part.results),
    ]
    if len(part.results["languages"]) > 1:
        parts += [_mean_table(part.results), _heat_map(index)]
        parts += [_pair_tables(index, part.results), _chooser(index, part)]
    return "".join([*parts, "</section>"])


def _caution(parts: Sequence[RunPart]) -> str:
    """Return a warning where the runs did not answer the same questions."""
    asked = {
        "dataset": {(p.settings.dataset, p.settings.config) for p in parts},
        "languages": {tuple(sorted(p.results["languages"])) for p in parts},
        "facts": {(p.settings.limit, p.settings.sample, p.results["n_queries"]) for p in parts},
        "scoring": {(p.settings.scoring, p.settings.bos) for p in parts},
    }
    differing = [name for name, values in asked.items() if len(values) > 1]
    if not differing:
        return ""
    return (
        f'<p class="note">These runs differ in {", ".join(differing)}: '
        "their means cannot be compared as they stand.</p>"
    )


def _left_out(results: dict[str, Any]) -> str:
    notes = [
        (results["left_out"]["rankc_adjusted"], "facts with one candidate have no adjusted RankC"),
        (results["left_out"]["coverlap"], "pairs of languages have no COverlap: nothing is right"),
    ]
    return "".join(f'<p class="note">{count} {what}.</p>' for count, what in notes if count)


def _language_table(results: dict[str, Any]) -> str:
    bounds = results.get("intervals", {}).get("accuracy", {})
    rows = (
        [escape(x), number(results["accuracy"][x]), interval(bounds.get(x))]
        for x in results["languages"]
    )
    chance = ["<em>chance</em>", number(results["chance"]["accuracy"]), ""]
    return (
        "<details><summary>The same as a table</summary>"
        + _table(["language", "accuracy", "95 % interval"], [*rows, chance])
        + "</details>"
    )


def _mean_table(results: dict[str, Any]) -> str:
    """Return the means over languages and pairs with their intervals, and the joint figures."""
    bounds = results.get("intervals", {}).get("mean", {})
    rows = [
        [MEANS.get(name, name), number(value), interval(bounds.get(name))]
        for name, value in results["mean"].items()
    ]
    rows += [
        [meaning, number(results[name]), interval(results.get(f"{name}_ci"))]
        for name, meaning in JOINT.items()
        if name in results
    ]
    return (
        "<details><summary>All means with their intervals</summary>"
        f"{_table(['figure', 'mean', '95 % interval'], rows)}</details>"
    )


def _heat_map(index: int) -> str:
    choices = "".join(
        f'<label><input type="radio" name="measure-{index}" value="{key}"'
        f"{' checked' if key == 'rankc' else ''}> {name}</label>"
        for key, name in MEASURES.items()
    )
    return (
        "<h3>Consistency of each pair</h3>"
        f'<fieldset class="switch"><legend>measure</legend>{choices}</fieldset>'
        '<p class="legend"><span class="low"></span><span class="ramp"></span>'
        '<span class="high"></span></p>'
        '<p class="hint">Choose a cell to go to examples of its two languages; '
        "the lists there do the same.</p>"
        '<div class="scroll" tabindex="0"><div class="figure heat" role="img" '
        'aria-label="heat map of all pairs of languages"></div></div>'
    )


def _pair_tables(index: int, results: dict[str, Any]) -> str:
    pairs = ranked_pairs(results)
    most = pairs[: min(PAIRS, (len(pairs) + 1) // 2)]
    least = pairs[::-1][: min(PAIRS, len(pairs) // 2)]
    tables = "".join(
        f'<div><h3>{title} consistent pairs</h3><div class="{title.lower()}">'
        f"{_pair_table(index, results, chosen)}</div></div>"
        for title, chosen in (("Most", most), ("Least", least))
        if chosen
    )
    return f'<div class="columns">{tables}</div>'


def _pair_table(index: int, results: dict[str, Any], pairs: Iterable[tuple[str, str]]) -> str:
    rows = (
        [
            f'<a href="#{index}/{escape(one)}/{escape(two)}">{escape(one)} – {escape(two)}</a>',
            *(number(results[key][f"{one}-{two}"]) for key in MEASURES),
        ]
        for one, two in pairs
    )
    return _table(["languages", *MEASURES.values()], rows)


def _chooser(index: int, part: RunPart) -> str:
    """Return the two lists of languages, set to the least consistent pair, and a place below."""
    languages, pairs = part.results["languages"], ranked_pairs(part.results)
    chosen = pairs[-1] if pairs else (languages[0], languages[1])
    lists = "".join(
        f'<label>{label} <select class="{label}">{_options(languages, value)}</select></label>'
        for label, value in zip(("first", "second"), chosen, strict=True)
    )
    shown, total = len(part.examples["facts"]), part.examples["total"]
    note = part.examples["note"]
    return (
        f'<div class="examples-block"><h3 id="examples-{index}">Examples for two languages</h3>'
        f"<p>Examples from {shown:,} of {total:,} facts, chosen so that every pair has some.</p>"
        + (f'<p class="note">{escape(note)}</p>' if note else "")
        + f'<p class="chooser">{lists}</p><div class="examples" aria-live="polite"></div></div>'
    )


def _options(languages: Iterable[str], chosen: str) -> str:
    return "".join(
        f'<option value="{escape(x)}"{" selected" if x == chosen else ""}>{escape(x)}</option>'
        for x in languages
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table of cells that are HTML already; after the first `words` columns: figures."""
    kinds = ["" if column < words else ' class="figure-cell"' for column in range(len(head))]
    top = "".join(f"<th{kind}>{cell}</th>" for kind, cell in zip(kinds, head, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )

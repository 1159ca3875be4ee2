"""The audit as one HTML file that needs neither network nor script."""

from html import escape
from importlib.resources import files
from itertools import combinations

from .audit import Audit
from .report import table_rows, totals

POLICY = "default-src 'none'; style-src 'unsafe-inline'"

DEFINITIONS = {
    "not parallel": "rows whose candidates are other entities, or stand in another order, than in "
    "the reference: by ids where all languages have them, otherwise by the pairs of answers "
    "observed in the data; of a homonym any observed translation counts.",
    "second answer": "rows with a distractor that answers another row with the same prompt, or "
    "that the data itself gives for the same subject and relation.",
    "label twice": "rows in which two candidates are written alike, but for case.",
    "invisible": "rows with a character that is not seen and is no spelling, such as "
    "U+200B, U+00A0 or U+FEFF, in prompt, subject or candidates.",
    "mixed alphabets": "rows with a word in two of Latin, Greek and Cyrillic that one would do "
    "for, such as a Latin A in a Greek word, in prompt, subject or candidates.",
    "prompt shared": "rows whose prompt stands in another row with another answer.",
    "last": "answers that stand last among several candidates.",
    "position p": "how likely the answers' places are if drawn at random (chi-square test).",
    "labels as in": "distinct labels written as in the reference, of those compared.",
    "ceiling": "RankC of a model that ranks the same entities alike in all languages, for random "
    "rankings and for such with the answer first; below 1 the dataset is to blame.",
}


def render_page(audit: Audit) -> str:
    """Return the page: totals, table, definitions, a heat map for each kind of ceiling."""
    title = escape(f"Audit of {audit.signature.split('|')[0].removeprefix('data:')}")
    style = files(__package__).joinpath("audit.css").read_text(encoding="utf-8")
    words = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in DEFINITIONS.items())
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title><style>{style}</style></head><body><main><h1>{title}</h1>",
        *(f"<p>{escape(line)}</p>" for line in totals(audit)),
        language_table(audit),
        f"<details><summary>What the figures mean</summary><dl>{words}</dl></details>",
        heat_map("Ceiling of RankC, random rankings", audit, audit.ceiling.random),
        heat_map("Ceiling of RankC, answer first", audit, audit.ceiling.answer_first),
        f"<p class='signature'><code>{escape(audit.signature)}</code></p></main></body></html>\n",
    ]
    return "\n".join(parts)


def language_table(audit: Audit) -> str:
    """Return the table of languages."""
    head, *lines = table_rows(audit)
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{escape(language)}</th>'
        + "".join(f"<td>{escape(value)}</td>" for value in values)
        + "</tr>"
        for language, *values in lines
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def heat_map(title: str, audit: Audit, values: dict[str, float]) -> str:
    """Return a table of all pairs, coloured from the lowest value to 1; empty without pairs."""
    if not values:
        return ""
    languages = list(audit.languages)
    both = {pair: values["-".join(pair)] for pair in combinations(languages, 2)}
    lowest = min(both.values())
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in languages)
    rows = []
    for one in languages:
        cells = []
        for other in languages:
            value = both.get((one, other), both.get((other, one), 1.0))
            depth = (1 - value) / (1 - lowest) if lowest < 1 else 0.0
            text = "" if one == other else f"{value:.3f}".removeprefix("0")
            cells.append(
                f'<td style="--depth:{100 * depth:.0f}%" title="{escape(f"{one}-{other}")} '
                f'{value:.4f}">{text}</td>'
            )
        rows.append(f'<tr><th scope="row">{escape(one)}</th>{"".join(cells)}</tr>')
    return (
        f"<h2>{escape(title)}</h2><p>from {lowest:.3f} (deepest) to 1 (no colour)</p>"
        f'<div class="scroll" tabindex="0"><table class="heat"><thead><tr><th></th>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )

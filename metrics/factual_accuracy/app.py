"""Show factual accuracy in the browser: predicted texts in, rows for every relation out."""

from space import build, load_beside, read_lines, show, show_interval, split_list

LANGUAGES = ["en", "el", "other"]
EMPTY = ["skip", "zero"]
COUNTS = {"all": "n_queries", "single": "n_single", "multi": "n_multi"}
HEADERS = ["relation", "objects", "accuracy", "95 %", "facts", "without prediction"]
EXAMPLE = """\
relation,prompt,right,single,prediction
P1412,The language of [X] was [Y] .,Greek|Modern Greek,1,greek
P1412,The language of [X] was [Y] .,Spanish,1,his own words
P176,The maker of [X] is [Y] .,Apple Inc.|Apple Computer,0,Apple Inc
P176,The maker of [X] is [Y] .,Toyota Motor Corporation,0,
"""
HELP = """\
# Factual accuracy
How often is a freely predicted object a right one? Paste a table with one line a fact (comma,
semicolon or tab): `relation`, `prompt` with `[Y]` for the object, the `right` texts (`|` between
several), `single` (1 if the object is one token of the model, 0 if it is more), `prediction` (empty
for none). In Greek (el) stress marks do not count; in English (en) the full stop after `[Y]` may
stand for that of the right text.
"""


def measure(text: str, language: str = "en", empty: str = "skip") -> list[list]:
    """Return a row of HEADERS for all, single and multi, of all relations and of each."""
    _, lines = read_lines(text, "relation, prompt, right, single, prediction")
    for number, line in enumerate(lines, start=1):
        if len(line) > 5 or line[3].strip() not in ("0", "1"):
            raise ValueError(f"line {number} is {line}; expected 5 cells, 1 or 0 for `single`")
    result = load_beside(__file__).compute(
        predictions=[line[4].strip() or None for line in lines],
        references=[split_list(line[2]) for line in lines],
        single_token=[line[3].strip() == "1" for line in lines],
        groups=[line[0].strip() for line in lines],
        prompts=[line[1] for line in lines],
        language=language,
        empty=empty,
    )
    rows = []
    for name, part in [("all (macro)", result), *result["by_group"].items()]:
        for objects, count in COUNTS.items():
            value, bounds = show(part[objects]), show_interval(part[f"{objects}_ci"])
            rows.append([name, objects, value, bounds, part[count], part.get("n_unpredicted")])
    return rows


if __name__ == "__main__":
    choices = {"language": LANGUAGES, "empty": EMPTY}
    build("Factual accuracy", HELP, EXAMPLE, HEADERS, measure, **choices).launch()

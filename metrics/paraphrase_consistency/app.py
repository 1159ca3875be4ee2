"""Show paraphrase consistency in the browser: answers in, rows for every relation out."""

from space import build, load_beside, read_lines, show, show_interval, split_list

FIGURES = ["consistency", "accuracy", "consistency_accuracy"]
HEADERS = ["relation", "figure", "value", "95 %", "tuples", "with one template", "ambiguous"]
EXAMPLE = """\
relation,subject,right,predictions
born in,Albert Einstein,Ulm,Ulm|Ulm|Bern
born in,Marie Curie,Warsaw,Paris|Paris|Paris
capital of,Nairobi,Kenya,Kenya|Kenya
capital of,Bonn,Germany,Germany|Austria
"""
HELP = """\
# Paraphrase consistency
Does a model give the same answer to paraphrases of a question, and the right one? Paste a table
with one line a fact (comma, semicolon or tab): `relation`, `subject`, `right` object, and the
`predictions`, one a template, with `|` between them or in a column each. A subject that has several
right objects in a relation is left out where you choose so.
"""


def measure(text: str, ambiguous: str = "leave out") -> list[list]:
    """Return a row of HEADERS for every figure, of all relations and of each."""
    _, lines = read_lines(text, "relation, subject, right, predictions")
    lines = [list(map(str.strip, line)) for line in lines]
    result = load_beside(__file__).compute(
        predictions=[[part for cell in line[3:] for part in split_list(cell)] for line in lines],
        references=[line[2] for line in lines],
        groups=[line[0] for line in lines],
        subjects=[line[1] for line in lines] if ambiguous == "leave out" else None,
    )
    left_out = [result["n_single_template"], result["n_ambiguous"]]
    rows = []
    for name, part in [("all (macro)", result), *result["by_group"].items()]:
        counts = [part["n_queries"], *(left_out if part is result else [None, None])]
        for figure in FIGURES:
            bounds = show_interval(part[f"{figure}_ci"])
            rows.append([name, figure, show(part[figure]), bounds, *counts])
    return rows


if __name__ == "__main__":
    choices = {"ambiguous": ["leave out", "keep"]}
    build("Paraphrase consistency", HELP, EXAMPLE, HEADERS, measure, **choices).launch()

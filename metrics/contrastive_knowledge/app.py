"""Show contrastive knowledge in the browser: probabilities in, a row for every language out."""

from space import build, load_beside, read_lines, read_numbers, show, show_interval, split_list

TIES = ["wrong", "half"]
HEADERS = ["language", "accuracy", "95 %", "±", "ties", "facts"]
EXAMPLE = """\
language,stem,fact,counterfacts
English,The capital of Kenya is,0.62,0.03|0.01
English,The Prius is made by,0.08,0.21|0.02|0.01
Croatian,Glavni grad Kenije je,0.31,0.02|0.04
Croatian,Prius proizvodi,0.004,0.004
"""
HELP = """\
# Contrastive knowledge
Does a model find facts more probable than what contradicts them? Paste a table with one line a
fact (comma, semicolon or tab): `language` (or relation), `stem`, the probability of the `fact`, and
those of its `counterfacts`, with `|` between them or in a column each.
"""


def measure(text: str, ties: str = "wrong") -> list[list]:
    """Return a row of HEADERS for all languages, whose figures are averaged, and for each."""
    _, lines = read_lines(text, "language, stem, fact, counterfacts")
    cells = [[part for cell in line[2:] for part in split_list(cell)] for line in lines]
    predictions = [read_numbers(row, number) for number, row in enumerate(cells, start=1)]
    languages = [line[0].strip() for line in lines]
    result = load_beside(__file__).compute(predictions=predictions, groups=languages, ties=ties)
    return [
        [
            name,
            show(part["accuracy"]),
            show_interval(part["accuracy_ci"]),
            show(part["half_width"]),
            show(part["tie_share"]),
            part["n_queries"],
        ]
        for name, part in [("all (macro)", result), *result["by_group"].items()]
    ]


if __name__ == "__main__":
    build("Contrastive knowledge", HELP, EXAMPLE, HEADERS, measure, ties=TIES).launch()

"""Show the inflection delta in the browser: a table of ranks in, a row for every relation out."""

from space import build, load_beside, read_lines, read_numbers, show, show_interval

AVERAGES = ["macro", "micro"]
HEADERS = ["relation", "inflection_delta", "95 %", "share_inflected", "95 % of share", "queries"]
EXAMPLE = """\
relation,label,inflected
P19,7,2
P19,1,3
P19,12,1
P495,4,4
P495,9,6
"""
HELP = """\
# Inflection delta
By how many ranks does a model prefer the inflected form of an answer to its label? Paste a table
with one line a query (comma, semicolon or tab): `relation`, the rank of the `label`, the rank of
the `inflected` form in the same list. Positive: the inflected form is preferred.
"""


def read_ranks(text: str) -> tuple[list[str], list[float], list[float]]:
    """Return the relation, the label's rank and the inflected form's rank of each query."""
    header, lines = read_lines(text, "relation, label, inflected")
    if len(header) > 3:
        raise ValueError(f"{len(header)} columns; expected relation, label, inflected")
    relations, ranks = [], []
    for number, (relation, *cells) in enumerate(lines, start=1):
        relations.append(relation)
        ranks.append(read_numbers(cells, number))
    return relations, [label for label, _ in ranks], [inflected for _, inflected in ranks]


def measure(text: str, average: str = "macro") -> list[list]:
    """Return a row of HEADERS for all relations and for each of them."""
    relations, label, inflected = read_ranks(text)
    result = load_beside(__file__).compute(
        predictions=label, references=inflected, groups=relations, average=average
    )
    parts = {f"all ({average})": result, **result["by_group"]}
    return [
        [
            name,
            show(part["inflection_delta"]),
            show_interval(part["inflection_delta_ci"]),
            show(part["share_inflected"]),
            show_interval(part["share_inflected_ci"]),
            part["n_queries"],
        ]
        for name, part in parts.items()
    ]


if __name__ == "__main__":
    build("Inflection delta", HELP, EXAMPLE, HEADERS, measure, average=AVERAGES).launch()

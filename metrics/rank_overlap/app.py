"""Show RBO, tau-b and top-k overlap in the browser: scores in, a row for every pair out."""

from itertools import combinations

from space import build, load_beside, read_scores, show, show_interval

TIES = ["expected", "released"]
HEADERS = [
    *("languages", "rbo", "95 %", "chance of rbo", "tau-b", "95 % of tau-b"),
    *("top 1", "chance of top 1", "top 3", "chance of top 3", "queries"),
]
EXAMPLE = """\
query,candidate,English,Spanish,Random
The Godfather,Italian,-1.2,-0.9,-2.0
The Godfather,English,-1.9,-3.5,-1.0
The Godfather,Russian,-4.0,-2.2,-1.5
The Godfather,Danish,-4.4,-5.1,-1.1
Capital of Kenya,Nairobi,-0.4,-0.6,-2.5
Capital of Kenya,Mombasa,-2.0,-1.8,-2.5
"""
HELP = """\
# Rank overlap
How alike does a model rank the same candidates in different languages, by rank-biased overlap
(p = 0.9), Kendall's tau-b and the overlap of the best one and three? Paste a table with one line a
candidate (comma, semicolon or tab): `query`, `candidate`, then one column of scores a language.
"""


def compare(text: str, ties: str = "expected") -> list[list]:
    """Return a row of HEADERS for every pair of languages in the text."""
    scores = read_scores(text)
    if len(scores) < 2:
        raise ValueError(f"{len(scores)} columns of scores; expected two languages or more")
    metric = load_beside(__file__)
    rows = []
    for one, other in combinations(scores, 2):
        result = metric.compute(
            predictions=scores[one], references=scores[other], k=[1, 3], ties=ties
        )
        rows.append(
            [
                f"{one} – {other}",
                show(result["rbo"]),
                show_interval(result["rbo_ci"]),
                show(result["rbo_chance"]),
                show(result["kendall_tau_b"]),
                show_interval(result["kendall_tau_b_ci"]),
                *(
                    show(result[f"top_k_overlap@{k}{part}"])
                    for k in (1, 3)
                    for part in ("", "_chance")
                ),
                result["n_queries"],
            ]
        )
    return rows


if __name__ == "__main__":
    build("Rank overlap", HELP, EXAMPLE, HEADERS, compare, ties=TIES).launch()

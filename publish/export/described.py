"""What each figure of a run is, for formats that ask for it."""

from typing import NamedTuple

INFINITE = float("inf")


class Described(NamedTuple):
    """A figure's title, what it says in one sentence, and its least and greatest value."""

    title: str
    says: str
    least: float = 0.0
    greatest: float = 1.0
    lower_is_better: bool = False


# By a figure's name in `Row`.
DESCRIBED = {
    "accuracy": Described(
        "accuracy", "Share of facts whose right answer comes first; ties in expectation."
    ),
    "rankc": Described(
        "RankC", "Likeness of the rankings of the same candidates in two languages (Qi 2023)."
    ),
    "rankc_adjusted": Described(
        "adjusted RankC",
        "(RankC - chance) / (1 - chance), over facts with several candidates.",
        least=-INFINITE,
    ),
    "coverlap": Described(
        "COverlap", "Facts right in both languages among those right in either (Jiang 2020)."
    ),
    "agreement": Described("agreement", "Share of facts with the same first candidate."),
    "rankc_excess": Described(
        "RankC excess", "RankC less what unrelated rankings of the same accuracies reach.", -1.0
    ),
    "rankc_right_right": Described("RankC, both right", "RankC over facts right in both."),
    "rankc_right_wrong": Described("RankC, one right", "RankC over facts right in one of two."),
    "rankc_wrong_wrong": Described("RankC, none right", "RankC over facts right in neither."),
    "rbo": Described("rank-biased overlap", "Rank-biased overlap of two languages' rankings."),
    "kendall_tau_b": Described(
        "Kendall's tau-b", "Rank correlation of two languages' scores.", -1.0
    ),
    "fleiss_kappa": Described(
        "Fleiss' kappa", "Agreement of all languages on the first candidate, above chance.", -1.0
    ),
    "right_in_all": Described("right in all", "Share of facts right in every language."),
    "right_in_any": Described("right in any", "Share of facts right in one language at least."),
    "right_in_none": Described(
        "right in none", "Share of facts right in no language.", lower_is_better=True
    ),
    **{
        f"recall_at_k.recall@{k}": Described(
            f"recall@{k}", f"Share of facts with a right answer among the first {k}; macro."
        )
        for k in (1, 5, 10)
    },
    "recall_at_k.mean_rank": Described(
        "mean rank", "Mean rank of the right answer, from 1; macro.", 1.0, INFINITE, True
    ),
    "contrastive_knowledge.accuracy": Described(
        "contrastive knowledge", "Share of facts more probable than the mean of their counterfacts."
    ),
    "contrastive_knowledge.tie_share": Described(
        "ties", "Share of facts as probable as their counterfacts.", lower_is_better=True
    ),
    "paraphrase_consistency.consistency": Described(
        "consistency", "Share of pairs of a fact's templates with the same answer; macro."
    ),
    "paraphrase_consistency.accuracy": Described(
        "accuracy of templates", "Share of a fact's templates with the right answer; macro."
    ),
    "paraphrase_consistency.consistency_accuracy": Described(
        "consistency and accuracy", "Share of pairs of templates that agree and are right; macro."
    ),
    "factual_accuracy.all": Described(
        "factual accuracy", "Share of facts whose free prediction is an accepted form; macro."
    ),
    "factual_accuracy.single": Described(
        "factual accuracy, one token", "The same over answers of a single token."
    ),
    "factual_accuracy.multi": Described(
        "factual accuracy, more tokens", "The same over answers of several tokens."
    ),
}


def describe(figure: str, kind: str) -> Described:
    """Return what a figure is in a run of that kind: accuracy of free predictions is X-FACTR's."""
    free = (figure, kind) == ("accuracy", "predictions")
    return DESCRIBED["factual_accuracy.all" if free else figure]

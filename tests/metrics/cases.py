"""Inputs of every metric, and one figure of each worked out by hand."""

from pathlib import Path

CASES = {
    "rankc": {"predictions": [[3, 2, 1], [1]], "references": [[3, 1, 2], [1]], "weights": "norm1"},
    "rankc_subject": {
        "predictions": [[3, 2, 1], [2, 9, 1]],
        "references": [[3, 1, 2], [2, 0, 1]],
        "donor_predictions": [[1, 3, 2], [1, 9, 2]],
        "donor_references": [[2, 3, 1], [1, 7, 2]],
        "answers": [[0], [0]],
        "donor_answers": [[], [1]],
        "weights": "norm1",
    },
    "coverlap": {"predictions": [1, 0], "references": [1, 1], "answers": [[1], [0, 2]]},
    "accuracy_at_1": {"predictions": [[1, 1], [1, 2, 3]], "references": [[0], [1]]},
    "recall_at_k": {"predictions": [[1, 1], [1, 2, 3]], "references": [[0], [1]], "k": [1, 2]},
    "inflection_delta": {"predictions": [7, 1], "references": [2, 3]},
    "paraphrase_consistency": {"predictions": [["a", "a"], ["a", "b"]], "references": ["b", "b"]},
    "contrastive_knowledge": {"predictions": [[0.2, 0.1], [0.3, 0.3, 0.4]], "groups": ["en", "fr"]},
    "factual_accuracy": {"predictions": [None, "UlM "], "references": [["Bern"], ["Bern", "Ulm"]]},
    "answer_agreement": {"predictions": [[0, 0, 1], [2, 2, 2]], "references": [[0], [1]]},
    "answer_match": {
        "predictions": ["Во Франции", "It is Greece, I think"],
        "references": [["Франция"], ["Греция"]],
        "language": "ru",
    },
    "factual_transfer": {
        "predictions": [[1, 1], [0, 1]],
        "references": ["en", "fr"],
        "languages": ["en", "fr"],
    },
    "rank_overlap": {"predictions": [[3, 2, 1], [1]], "references": [[3, 1, 2], [1]], "p": 0.5},
}
RESULTS = {
    "rankc": ("rankc", ((2 * 1 + 1 * 1 / 2 + 0) / 3 + 1) / 2),
    # R: 2/3 + 1/3 · 1/2 and 1; P: 1/3 · (2/2 + 1/2) / 2 and 0; Q: 2/3 + 1/3 · 1/2 and 1
    "rankc_subject": (
        "rankc_subject",
        ((5 / 6 - 2 * 1 / 4 + 5 / 6) + (1 + 1)) / ((1 - 2 * 1 / 4 + 5 / 6) + (1 + 1)),
    ),
    "coverlap": ("coverlap", 1 / 2),
    "accuracy_at_1": ("accuracy_at_1", (1 / 2 + 0) / 2),
    "recall_at_k": ("mean_rank", (3 / 2 + 2) / 2),
    "inflection_delta": ("inflection_delta", ((7 - 2) + (1 - 3)) / 2),
    "paraphrase_consistency": ("consistency", (1 + 0) / 2),
    "contrastive_knowledge": ("accuracy", (1 + 0) / 2),
    "factual_accuracy": ("all", (0 + 1) / 2),
    "answer_agreement": ("agreement", (1 / 3 + 3 / 3) / 2),
    "answer_match": ("accuracy", (1 + 0) / 2),
    # A: 0 of 2 cells; N: 0 and 1
    "factual_transfer": ("recall", 3 / 2 * (1 / (0 + 1 / 2 + 1) - 1 / 3)),
    "rank_overlap": ("rbo", ((1 / 2 * 1 + 1 / 4 * 1 / 2 + 1 / 4 * 1) + 1) / 2),
}


METRICS = Path(__file__).resolve().parents[2] / "metrics"

"""Tables of scores and predictions, as a run reads them."""

import pyarrow as pa

from polyprobe.analysis.figures.figures import choose_figures
from polyprobe.analysis.figures.predictions import PredictedFacts, summarize_predictions
from polyprobe.analysis.figures.units import Units
from polyprobe.schema.run.folder import PREDICTIONS, SCORES

OFF = Units()
RELATIONS = ("P36", "P36", "P36", "P19")


def make_predictions(
    predictions, single=(True, True, False, False), forms="gold", prompt="It is [Y]."
):
    """Rows with the accepted form `gold` and the predictions given; single None: not asked."""
    return pa.Table.from_pylist(
        [
            {
                "fact_id": f"{relation}:Q{i}:Q9",
                "relation": relation,
                "prompt": prompt,
                "answer_forms": [forms],
                "prediction": text,
                "n_masks": 1,
                "log_probability": -1.0,
                "single_token": flag,
            }
            for i, (relation, text, flag) in enumerate(
                zip(RELATIONS, predictions, single, strict=True)
            )
        ],
        schema=PREDICTIONS,
    )


EVERY = choose_figures(())


def make_scores(rows):
    """Rows of (fact_id, answers, scores), all tokens 1 unless given as a fourth."""
    return pa.Table.from_pylist(
        [
            {
                "fact_id": fact,
                "relation": fact.split(":")[0],
                "answers": answers,
                "scores": scores,
                "n_tokens": tokens[0] if tokens else [1] * len(scores),
            }
            for fact, answers, scores, *tokens in rows
        ],
        schema=SCORES,
    )


def measure_predictions(tables, units=OFF):
    return summarize_predictions(PredictedFacts(tables), units)

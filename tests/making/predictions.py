"""Free predictions on disk, without a model."""

import pyarrow as pa

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.options import Bootstrap
from polyprobe.schema.run.folder import PREDICTIONS, Run
from tests.making.runs import make_settings

RELATIONS = ("P36", "P36", "P19", "P19", "P36", "P20")


def write_predictions(folder, texts, single=None, facts=None, scoring="xfactr-order-none-m1-b1"):
    """Write a run whose accepted form is always `gold`; None was not asked."""
    run = Run(folder)
    run.open(
        make_settings(
            list(texts), dataset="facts", fingerprint=dict.fromkeys(texts, "f"), scoring=scoring,
            bos=None,
        )
    )  # fmt: skip
    for language, said in texts.items():
        flags = single or [k % 2 == 0 for k in range(len(said))]
        table = pa.table(
            {
                "fact_id": [f"{r}:Q{k}:Q9" for k, r in facts or enumerate(RELATIONS)],
                "relation": [r for _, r in facts or enumerate(RELATIONS)],
                "prompt": [f"{language} {k} is [Y]." for k in range(len(said))],
                "answer_forms": [["gold", "golden"]] * len(said),
                "prediction": said,
                "n_masks": [None if text is None else 1 for text in said],
                "log_probability": [None if text is None else -1.0 for text in said],
                "single_token": [
                    None if t is None else f for t, f in zip(said, flags, strict=True)
                ],
                "form_lengths": [[1, 1]] * len(said),
                "fillings": [
                    text and [{"ids": [k], "text": text, "log_c": [-1.0]}]
                    for k, text in enumerate(said)
                ],
            },
            schema=pa.schema([part for part in PREDICTIONS if part.name != "gold_log_c"]),
        )
        run.write(language, table)
    compute_results(run, Bootstrap(0))
    return run


FIRST = {"en": ["gold", "gold", "x", "gold", "golden", "x"], "el": ["gold", None, *"xxxx"]}
SECOND = {"en": ["gold", "y", "gold", "y", "z", "x"], "el": ["y", "gold", "gold", *"xxx"]}

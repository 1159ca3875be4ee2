"""Runs of random scores over facts of several relations."""

import numpy as np
import pyarrow as pa

from polyprobe.schema.run.folder import SCORES
from tests.making.runs import write_run

LANGUAGES = ("en", "ru", "zh_hans")
N = 40
RELATIONS = [("P36", "P19", "P19", "P530", "P19")[n % 5] for n in range(N)]


def write_scores(folder, dataset, seed, **options):
    """Return a run of 40 facts of three relations, with second questions and baselines."""
    run = write_run(folder, dataset, {x: [[0.0] * (4, 2)[n // 4 % 2] for n in range(N)]
                                      for x in LANGUAGES}, **options)  # fmt: skip
    draw = np.random.default_rng(seed)
    common = draw.normal(size=(N, 4))
    for language in LANGUAGES:
        known = run.read(language)
        sizes = [len(row) for row in known["scores"].to_pylist()]
        values = [common + draw.normal(size=(N, 4)) for _ in range(2)]
        own, other = (
            [row[:k].tolist() for row, k in zip(one, sizes, strict=True)] for one in values
        )
        facts, answers = (known[x].to_pylist() for x in ("fact_id", "answers"))
        right = [row[0] for row in answers]
        columns = known.to_pydict() | {
            "relation": RELATIONS,
            "scores": own,
            "n_characters": [[3] * k for k in sizes],
            "flags": [["second_answers"] if x == "P530" else [] for x in RELATIONS],
            "baseline": [n % 7 / 6 for n in range(N)],
            "donor": [None if n % 9 == 3 else facts[n ^ 2] for n in range(N)],
            "donor_scores": [None if n % 9 == 3 else other[n] for n in range(N)],
            # the second of three wrong candidates; a single one is not the donor's answer
            "donor_answers": [
                None if n % 9 == 3 else [1 if right[n] > 1 else 2][: sizes[n] // 4]
                for n in range(N)
            ],
        }
        run.write(language, pa.table(columns, schema=SCORES))
    return run

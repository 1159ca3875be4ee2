"""Edits as `polyprobe edit` writes them, with random scores."""

import numpy as np


def make_edits(languages=("en", "el", "ru", "zh"), n_facts=12, seed=0):
    """Make an `edits.json`: the first language is the source, the last has no consistency."""
    random = np.random.default_rng(seed)
    levels = dict(zip(languages, [None, 0.8, 0.3, *[None] * len(languages)], strict=False))
    return {
        "model": "geolm", "revision": "0", "dataset": "geofacts", "config": None,
        "source": languages[0], "method": "rome", "layer": 0, "settings": {"contexts": 0},
        "languages": [*languages], "consistency": levels,
        "facts": [make_fact(f"P36:Q{i // 2}:Q{i}", languages, random) for i in range(n_facts)],
    }  # fmt: skip


def make_fact(fact_id, languages, random):
    relation, subject, target = fact_id.split(":")
    return {
        "fact_id": fact_id, "relation": relation, "subject": subject, "right": "right",
        "target": target, "seconds": 0.1,
        "languages": {x: make_sides(random) for x in languages},
    }  # fmt: skip


def make_sides(random):
    def draw(shift):
        return (random.normal(shift, 1, 2) - [2, 4]).tolist()

    sides = {
        side: {**dict(zip(("right", "target"), draw(shift), strict=True)), "rank": rank}
        for side, shift, rank in (("before", [1, 0], 3), ("after", [0, 1], 1))
    }
    neighbours = {side: [draw(0) for _ in range(3)] for side in ("before", "after")}
    return {**sides, "neighbours": neighbours}

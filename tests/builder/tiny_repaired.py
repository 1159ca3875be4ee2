"""A BMLAMA of three rows, with matching mParaRel and X-FACTR."""

import json

import pytest

from polyprobe.builder.sources import mpararel, xfactr
from polyprobe.builder.sources.bmlama import read_linked
from tests.builder.tiny import place_archive

NAMES = {
    "en": {
        "Q657": "Chad",
        "Q585": "Oslo",
        "Q20": "Norway",
        "Q2868": "Lima",
        "Q419": "Peru",
        "Q1": "krone",
    },
    "he": {
        "Q657": 'צ"אד',
        "Q585": 'או"סלו',
        "Q20": "נורווגיה",
        "Q2868": "לימה",
        "Q419": "פרו",
        "Q1": "קרונה",
    },
    "zh-hans": {
        "Q657": "乍得",
        "Q585": "奥斯陆",
        "Q20": "挪威",
        "Q2868": "利马",
        "Q419": "秘鲁",
        "Q1": "克朗",
    },
}
FACTS = [("P17", "Q585", "Q20"), ("P17", "Q2868", "Q419"), ("P127", "Q1", "Q20"),
         ("P127", "Q585", "Q419"), ("P127", "Q585", "Q657")]  # fmt: skip


@pytest.fixture
def sources(tiny, monkeypatch):
    """The mirror folder with the three archives."""
    read_linked.cache_clear()
    tuples = {}
    for language, names in NAMES.items():
        for relation in ("P17", "P127"):
            lines = [
                json.dumps(
                    {"sub_uri": s, "sub_label": names[s], "obj_uri": o, "obj_label": names[o]}
                )
                for r, s, o in FACTS
                if r == relation
            ]
            path = f"data/mpararel_reviewed/tuples/{language}/{relation}.jsonl"
            tuples[path] = "\n".join(lines).encode()
    # According to X-FACTR, Lima is also in Norway, and Norway owns the krone.
    listed = {"data/TREx_multi_rel.txt": b"Q2868\tP17\tQ419 Q20\n"}
    fact = {"sub_uri": "Q1", "sub_label": "krone", "obj_uri": "Q20", "obj_label": "Norway"}
    listed["data/mTREx/sub/P127.jsonl"] = json.dumps(fact).encode()
    for module, name, contents in ((mpararel, "m/p", tuples), (xfactr, "x/f", listed)):
        place_archive(monkeypatch, tiny, module, contents, name)
    yield tiny
    read_linked.cache_clear()

"""Rows as BabyLM releases them, of three facts of a small BMLAMA in English and Chinese."""

import json
from pathlib import Path

from polyprobe.schema.columns import Row


def fact(number, prompt, subject, *options):
    name, right = f"17:000{number}", len(options) - 1
    ends = [right], [options[right]], "P36"
    return name, Row(name, "P36", "", "", subject, prompt, [*options], [], *ends)


FACTS = {
    "en": dict([
        fact(1, "The capital of Peru is [Y].", "Peru", "Paris", "Rome", "Lima"),
        fact(2, "The capital of France is [Y].", "France", "Lima", "Rome", "Paris"),
        fact(3, "The capital of Italy is [Y].", "Italy", "Lima", "Paris", "Rome"),
    ]),
    "zh": dict([
        fact(1, "秘鲁的首都是[Y]。", "秘鲁", "巴黎", "罗马", "利马"),
        fact(2, "法国的首都是[Y]。", "法国", "利马", "罗马", "巴黎"),
        fact(3, "意大利的首都是[Y]。", "意大利", "利马", "巴黎", "罗马"),
    ]),
}  # fmt: skip


def line(idx, sentence, label, *options, end="", **more):
    lettered = "".join(f"\n{letter}: {x}" for letter, x in zip("ABCDEFGH", options, strict=False))
    return {"idx": idx, "sentence": f"{sentence}{lettered}{end}", "label": label, **more}


# The same idx is another fact in Chinese; rows are linked by a sentence with other blanks and
# marks, in traditional characters, and by subject and options where the wording differs.
ROWS = {
    "en.train": [
        line(0, "The capital of Peru is _.", "B", "Rome", "Lima", "Paris"),
        line(1, "Rome is the capital of _.", "A", "Italy", "Peru", "Vatican City"),
    ],
    "en.valid": [
        line(2, "The capital of France is _.", "C", "Rome", "Lima", "Paris"),
        line(3, "Rome is the capital of _.", "C", "Italy", "Peru", "Vatican City"),
    ],
    "zh.train": [line(0, "法國的首都是 _ ﹒", "A", "巴黎", "羅馬", "利馬")],
    "zh.valid": [
        line(2, "在秘鲁, 首都叫 __", "C", "罗马城", "巴黎", "利马"),
        line(3, "某国的首都是 _。", "A", "利马", "利马", "罗马"),
    ],
}


def write(folder: Path, rows=ROWS) -> Path:
    for name, lines in rows.items():
        path = folder / name.partition(".")[0] / f"bmlama_{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = (x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in lines)
        path.write_text("\n".join([*texts, ""]), encoding="utf-8")
    return folder

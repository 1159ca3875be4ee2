"""A small parallel dataset on disk, and ways to spoil it."""

from pathlib import Path

from polyprobe.schema.columns import Row
from tests.making.datasets import write_dataset

CITIES = {
    "en": ["Paris", "Berlin", "Rome", "Moscow"],
    "ru": ["Париж", "Берлин", "Рим", "Москва"],
    "zh_hans": ["巴黎", "柏林", "罗马", "莫斯科"],
}
COUNTRIES = {
    "en": ["France", "Germany", "Italy", "Russia"],
    "ru": ["Франция", "Германия", "Италия", "Россия"],
    "zh_hans": ["法国", "德国", "意大利", "俄罗斯"],
}
PROMPTS = {
    "en": "{}: its capital is [Y].",
    "ru": "{}: столица — [Y].",
    "zh_hans": "{}的首都是[Y]。",
}


def rows(language: str, copies: int = 2) -> list[Row]:
    """Return `copies` queries per country, alternately with four and two candidates."""
    made = []
    for number in range(4 * copies):
        country, size = number % 4, (4, 2)[number // 4 % 2]
        pool = [(country + k) % 4 for k in range(1, size)]
        pool.insert(number % size, country)
        made.append(
            Row(
                fact_id=f"P36:C{country}:{number}",
                relation=("P36", "P37")[number % 2],
                subject_id=f"C{country}",
                object_id=f"T{country}",
                subject=COUNTRIES[language][country],
                prompt=PROMPTS[language].format(COUNTRIES[language][country]),
                candidates=[CITIES[language][k] for k in pool],
                candidate_ids=[f"T{k}" for k in pool],
                answers=[number % size],
                answer_forms=[CITIES[language][country]],
                template_id="P36",
            )
        )
    return made


def write_facts(folder: Path, spoil=None, copies: int = 2) -> Path:
    """Write the dataset; `spoil` maps (language, rows) to their replacement."""
    made = {x: rows(x, copies) for x in CITIES}
    made = {x: spoil(x, made[x]) for x in CITIES} if spoil else made
    return write_dataset(folder, {"small": made}, default="small")


def number_subjects(language, rows):
    """Make every prompt different, since scores are cached."""
    return [row._replace(prompt=f"{n}. {row.prompt}") for n, row in enumerate(rows)]

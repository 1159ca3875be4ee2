"""Facts of several relations whose subjects and candidates have names of the same syllables."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from polyprobe.schema.columns import Row
from tests.making.datasets import write_dataset

# Name, number of subjects, of their objects, and of the wrong candidates of a fact.
Relation = tuple[str, int, int, tuple[int, ...]]
SYLLABLES = {
    "en": ["Ba", "ka", "lo", "mi", "ru", "te", "so", "Ne"],
    "ru": ["Ба", "ка", "ло", "ми", "ру", "те", "со", "Не"],
    "zh_hans": ["巴", "卡", "洛", "米", "鲁", "特", "索", "内"],
}
# The third has a single subject, which has no donor.
RELATIONS: list[Relation] = [("P36", 14, 6, (5,)), ("P37", 9, 3, (1, 2, 3)), ("P38", 1, 3, (2,))]


def spell(language: str, *syllables: int) -> str:
    """Spell a name in the script of a language."""
    return "".join(SYLLABLES[language][k] for k in syllables).capitalize()


def make_rows(language: str, relations: Sequence[Relation] = RELATIONS) -> list[Row]:
    """Make a fact of each subject, whose name shares syllables with some of the candidates."""
    draw, made = random.Random(1), []
    for relation, n, n_objects, sizes in relations:
        for subject in range(n):
            item = subject % n_objects
            others = [k for k in range(6) if k != item]
            pool = draw.sample(others, draw.choice(sizes))
            place = draw.randint(0, len(pool))
            pool.insert(place, item)
            name = spell(language, subject % 8, (3 * subject + 1) % 8)
            label = f"{name} {subject}"
            made.append(
                Row(
                    fact_id=f"{relation}:{relation}{subject}:T{item}",
                    relation=relation,
                    subject_id=f"{relation}{subject}",
                    object_id=f"T{item}",
                    subject=name,
                    prompt=f"{relation} {label}: [Y].",
                    candidates=[spell(language, *range(k, 8, 3)) for k in pool],
                    candidate_ids=[f"T{k}" for k in pool],
                    answers=[place],
                    answer_forms=[spell(language, *range(item, 8, 3))],
                    template_id=relation,
                )
            )
    return made


def write_subjects(
    folder: Path,
    change: Callable[[str, list[Row]], list[Row]] = lambda language, made: made,
    relations: Sequence[Relation] = RELATIONS,
) -> Path:
    """Write the dataset; `change` maps language and rows to their replacement."""
    made = {x: change(x, make_rows(x, relations)) for x in SYLLABLES}
    return write_dataset(folder, {"small": made}, default="small")

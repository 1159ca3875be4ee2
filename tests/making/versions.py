"""A small dataset with templates and sentences, and runs on both without a model."""

import shutil
from itertools import permutations
from pathlib import Path

import numpy as np

from polyprobe.schema.columns import Row, fingerprint
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import protocol_of
from tests.making.datasets import write_dataset as write_folder
from tests.making.runs import make_settings, reseal, write_scores

CONFIGS = ("small", "small-sentence")
FORMS = {"Москва": "Москве", "Париж": "Париже", "Рим": "Риме"}
CITIES = {"en": ["Moscow", "Paris", "Rome"], "ru": ["Москва", "Париж", "Рим"]}
PEOPLE = {"en": ["Olga", "Ivan", "Anna", "Igor"], "ru": ["Ольга", "Иван", "Анна", "Игорь"]}
GENDERS = ("female", "male", "female", "none")
VERBS = {"P19": {"en": "was born", "ru": ("родился", "родилась")}}
VERBS["P20"] = {"en": "died", "ru": ("умер", "умерла")}
N = 12


def made_rows(config: str, language: str, two_forms: bool = False) -> list[Row]:
    """Return twelve rows of two relations; templates use masculine verbs only."""
    sentence = config.endswith("-sentence")
    rows = []
    for number in range(N):
        person, relation, city = number % 4, ("P19", "P20")[number // 4 % 2], number % 3
        subject, label = PEOPLE[language][person], CITIES[language][city]
        verb = VERBS[relation][language]
        if language == "ru":
            verb = verb[sentence and person % 2 == 0]
        link = {"en": "in", "ru": "в"}[language]
        form = FORMS.get(label, label)
        labels = list(CITIES[language])
        answers = [city]
        if two_forms:
            labels, answers = [*labels, form if language == "ru" else f"{form} City"], [city, 3]
        elif sentence:
            labels[city] = form
        rows.append(
            Row(
                fact_id=f"{relation}:Q{person}:{number}",
                relation=relation,
                subject_id=f"Q{person}",
                object_id=f"T{city}",
                subject=subject,
                prompt=f"{subject} {verb} {link} [Y].",
                candidates=labels,
                candidate_ids=[f"T{k}" for k in range(3)] + [f"T{city}"] * two_forms,
                answers=answers,
                answer_forms=[label, labels[3]]
                if two_forms
                else list(dict.fromkeys([label, form])),
                template_id=relation,
            )
        )
    return rows


def write_dataset(folder: Path, languages=("en", "ru"), two_forms=False, skip=()) -> Path:
    """Write both configurations; `skip` are the rows missing from the sentences."""
    configs = {}
    for config in CONFIGS:
        made = {x: made_rows(config, x, two_forms) for x in languages}
        left_out = () if config == CONFIGS[0] else skip
        configs[config] = {
            x: [row for i, row in enumerate(rows) if i not in left_out] for x, rows in made.items()
        }
    return write_folder(folder, configs)


def made_scores(config: str, language: str, rows: int, pool: int) -> list[list[float]]:
    """Return random scores with ties, different for each configuration and language."""
    seed = [CONFIGS.index(config), *language.encode()]
    return np.random.default_rng(seed).integers(0, 4, (rows, pool)).astype(float).tolist()


def write_run(folder: Path, dataset: Path, config: str, languages=("en", "ru"), **settings) -> Run:
    """Write run.json and scores/ of a configuration."""
    tables = load_facts(str(dataset), config, list(languages))
    run = Run(folder)
    also = protocol_of(settings.get("scoring", "bmlama")).columns
    prints = {x: fingerprint(table, also) for x, table in tables.items()}
    settings |= {"dataset": str(dataset), "config": config, "fingerprint": prints}
    run.open(make_settings(list(languages), **settings))
    for language, table in tables.items():
        pool = len(table["candidates"][0])
        write_scores(run, language, table, made_scores(config, language, len(table), pool))
    return run


def write_versions(folder: Path, **options) -> tuple[Run, Run]:
    """Write a dataset and its two runs, the one on templates first."""
    dataset = write_dataset(folder / "tiny", **options)
    languages = options.get("languages", ("en", "ru"))
    return tuple(write_run(folder / config, dataset, config, languages) for config in CONFIGS)


def rename(run: Run, folder: Path, config: str) -> Run:
    """Copy a run under another configuration's name."""
    shutil.copytree(run.folder, folder)
    reseal(folder, config=config)
    return Run(folder)


def write_wordings(folder: Path) -> list[Run]:
    """Write runs of three wordings; ChatGPT's has the template's scores."""
    template, sentence = write_versions(folder)
    data = folder / "tiny" / "data"
    shutil.copytree(data / "small", data / "small-chatgpt")
    card = folder / "tiny" / "README.md"
    lines = card.read_text(encoding="utf-8").splitlines()
    config = [line.replace("small", "small-chatgpt") for line in lines[2:8]]
    card.write_text("\n".join([*lines[:-2], *config, *lines[-2:]]), encoding="utf-8")
    return [template, sentence, rename(template, folder / "small-chatgpt", "small-chatgpt")]


def best_ranks(table):
    """All orders of the ties of each row: the best rank of a correct answer, from 1."""
    ranks = []
    for row in table.to_pylist():
        found = []
        for order in permutations(range(len(row["scores"]))):
            ranked = sorted(order, key=lambda k: -row["scores"][k])  # stable: ties as in `order`
            found.append(min(ranked.index(k) for k in row["answers"]) + 1)
        ranks.append(found)
    return np.array(ranks)

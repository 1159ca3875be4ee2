"""Tables of a dataset, as it is: unchecked, from Parquet files, the Hub, or the TSVs of BMLAMA."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from polyprobe.builder.sources.bmlama.files import read_raw
from polyprobe.schema.columns import split_name
from polyprobe.schema.languages import refuse_languages
from polyprobe.schema.load import read_splits
from polyprobe.schema.locate import list_splits, locate, read_card
from polyprobe.system.messages import PolyprobeError

from .baseline import find_prior
from .checks import find_second_answers
from .split import read_split
from .templates import TemplateCounts, tally_templates

Languages = list[str] | None  # None: all


def read_tables(dataset: str, config: str | None, languages: Languages) -> dict[str, pa.Table]:
    """Read the tables of a dataset by language, unchecked, or the TSV files of BMLAMA."""
    folder = Path(dataset)
    if folder.is_file():
        raise PolyprobeError(f"{dataset} is a file; give the folder of a dataset")
    has_parquet = any(folder.rglob("*.parquet"))
    if any(folder.glob("*.tsv")) and not has_parquet:
        if config:
            text = f"{dataset} holds TSV files, which have no configurations; omit --config"
            raise PolyprobeError(text)
        return read_raw(folder, languages)
    if folder.is_dir() and locate(dataset) == dataset and not has_parquet:
        raise PolyprobeError(f"{dataset} holds neither Parquet nor TSV files; give another folder")
    tables = read_splits(dataset, config)
    refuse_languages(languages or (), dataset, tables)
    return {language: tables[language] for language in languages or tables}


def count_templates(
    dataset: str, config: str | None, languages: Languages
) -> dict[str, TemplateCounts]:
    """Count the templates of each language, in all configurations if none is named."""
    card = Path(locate(dataset)) / "README.md"
    listed = list_splits(read_card(card)) if card.is_file() and not config else []
    splits = {name: [x.name for x in listed if x.config == name] for name, *_ in listed}
    if len(splits) < 2:
        tables = read_tables(dataset, config, languages)
    else:
        tables = {}
        refuse_languages(languages or (), dataset, set().union(*splits.values()))
        for name, names in splits.items():
            part = [language for language in names if languages is None or language in languages]
            for language, table in read_tables(dataset, name, part).items() if part else ():
                key = language if split_name(name) == language else f"{name} {language}"
                tables[key] = table
    counts = {key: tally_templates(table, f"{dataset}: {key}") for key, table in tables.items()}
    if all(of_key.unread == of_key.templates for of_key in counts.values()):
        raise PolyprobeError(
            f"{dataset} has no templates: no relation's prompts differ only in the subject's label"
        )
    return counts


def count_parts(dataset: str, languages: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Count the defects of languages in the configurations LANG-train, LANG-valid and LANG-test."""
    card = Path(locate(dataset)) / "README.md"
    configs = {x.config for x in list_splits(read_card(card))} if card.is_file() else set()
    counts, english = {}, dict[str, str]()  # {released id: fact}
    for language in dict.fromkeys(["en", *languages]):
        names = [f"{language.replace('_', '-')}-{part}" for part in ("train", "valid", "test")]
        tables = [read_splits(dataset, x, [language])[language] for x in names if x in configs]
        if not tables:
            continue
        table, n_train = pa.concat_tables(tables), len(tables[0]) if names[0] in configs else 0
        split = read_split(language, table, dataset)
        key = "dataset_id" if "dataset_id" in table.column_names else "fact_id"
        facts = dict(zip(table[key].to_pylist(), split.fact_id, strict=True))
        english = english or facts
        linked = {*english.values()}.intersection(facts.values())
        changes = [facts[x] != english[x] for x in english if facts.get(x) in linked]
        trained = {*split.prompt[:n_train]}
        counts[language] = {
            "rows": len(table),
            "rows_with_second_answer": sum(find_second_answers(split, split)),
            "rows_outside_train": len(table) - n_train,
            "rows_with_prompt_of_train": sum(x in trained for x in split.prompt[n_train:]),
            "accuracy_of_train_prior": find_prior(split, n_train),
            "ids_compared_to_en": len(changes),
            "ids_of_other_facts_than_in_en": sum(changes),
        }
    return {language: counts[language] for language in languages if language in counts}

"""Build fluent-mlama: the facts of Semenov and Sennrich (arXiv:2510.15115) in their protocol.

The method is that of the paper (section 3, `-wide`: appendix E), as card.md describes it.
RELATIONS, `is_extracted` and `has_length` are inferred from the paper's released logs.
"""

from functools import lru_cache
from itertools import islice
from pathlib import Path

from polyprobe.builder.facts import Fact
from polyprobe.builder.recipes import FLUENT_WIDE as WIDE
from polyprobe.builder.sources.fluent_mlama import FAILED, SEPARATOR, Record, read_translations_of
from polyprobe.schema.columns import SLOT, Row
from polyprobe.system.files import hash_text, read_toml

# The relations of each language in the paper's figures; the archive has more.
RELATIONS: dict[str, list[str]] = read_toml(__package__, "relations.toml")
WORDINGS = {"": "template", "-sentence": "google", "-chatgpt": "chatgpt"}
DEFAULT_CONFIG = "es"
N_DISTRACTORS = 50


def build(config: str, mirror: Path | None = None) -> dict[str, list[Row]]:
    """Return the rows of a configuration, in the order of relation and released file."""
    language, dash, wording = config.removesuffix(WIDE).partition("-")
    name, wide = WORDINGS[dash + wording], config.endswith(WIDE)
    questions = make_questions(language, mirror)
    return {language: [make_question_row(*question, name, wide) for question in questions]}


@lru_cache(maxsize=1)  # the configurations of a language are built in sequence
def make_questions(language: str, mirror: Path | None = None) -> list[tuple[Record, list[str]]]:
    """Return the facts of a language with their distractors, the same for every wording."""
    records = list(filter(is_extracted, read_translations_of(mirror, [language])))
    questions = []
    for relation in RELATIONS[language]:
        part = [record for record in records if record.relation == relation]
        pool = sorted(set().union(*map(list_correct_names, part)), key=hash_text)
        for record in filter(has_length, part):
            names = set(list_correct_names(record))
            distractors = (name for name in pool if name not in names)
            questions.append((record, [*islice(distractors, N_DISTRACTORS)]))
    return questions


def is_extracted(record: Record) -> bool:
    """Return whether the object was found in every sentence, with text before it."""
    # Without a sentence from ChatGPT, an empty object is accepted: the logs contain two such rows
    # (da), and the paper counts 25 more (id). Only the label is correct there.
    if record.chatgpt_prompt is None:
        return record.gt_prompt not in ("", FAILED)
    of_google = (record.gt_prompt, record.gt_infl_object)
    of_chatgpt = (record.chatgpt_prompt, record.chatgpt_infl_object)
    return not {"", FAILED}.intersection(of_google + of_chatgpt)


def has_length(record: Record) -> bool:
    """Return whether Google's prompt has at least a third of the average length of the others."""
    # A shorter prompt indicates another word order, with the object at the beginning.
    starts = [record.template_prompt, record.chatgpt_prompt]
    lengths = [len(text) for text in starts if text is not None]
    return len(record.gt_prompt) >= sum(lengths) / (3 * len(lengths))


def list_correct_forms(record: Record) -> list[str]:
    """Return the correct forms without duplicates, the label first."""
    forms = (record.obj_label, record.gt_infl_object, record.chatgpt_infl_object)
    return list(dict.fromkeys(form for form in forms if form))


def list_correct_names(record: Record) -> list[str]:
    """Return the correct forms and then the object's aliases, without duplicates."""
    aliases = (name.strip() for name in record.aliases.split(SEPARATOR))
    return list(dict.fromkeys([*list_correct_forms(record), *filter(None, aliases)]))


def make_question_row(record: Record, distractors: list[str], wording: str, wide: bool) -> Row:
    """Return the row of a fact in one wording; `wide`: the object's aliases are correct."""
    fact = Fact(record.relation, record.sub_uri, record.obj_uri)
    right = list_correct_names(record) if wide else list_correct_forms(record)
    # By hash, so that the positions of correct candidates say nothing.
    candidates = sorted([*right, *distractors], key=lambda name: hash_text(f"{fact.id}|{name}"))
    starts = (record.template_prompt, record.gt_prompt, record.chatgpt_prompt)
    start = dict(zip(WORDINGS.values(), starts, strict=True))[wording]
    ids = [f"{hash_text(name):064x}"[:16] for name in candidates]
    answers = [k for k, name in enumerate(candidates) if name in right]
    subject, prompt = record.sub_label, f"{start}{SLOT}"
    template = f"fluent-mlama:{record.relation}:{wording}"
    return Row(fact.id, *fact, subject, prompt, candidates, ids, answers, right, template)

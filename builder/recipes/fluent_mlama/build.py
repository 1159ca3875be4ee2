"""Build fluent-mlama: the facts of Semenov and Sennrich (arXiv:2510.15115), asked as they did.

A configuration is a language in one wording: `LANG` has mLAMA's template with bare labels,
`LANG-sentence` Google's translation of the whole English sentence, `LANG-chatgpt` (cs, hr, ru, uk)
ChatGPT's. Those of one language have the same rows with the same candidates: the prompts alone
differ. Facts differ from language to language, so each configuration has one split.

The paper's recipe, kept to the letter (section 3; the relations and the two filters that its
released logs show are in RELATIONS, `is_extracted` and `has_length`):

- A prompt is what stands before the object, with the blanks around it, and nothing after the slot:
  `--scoring object` reads no further and keeps the blank.
- Right are the object's label and the forms in which it stands in the sentences, the same set for
  every wording (`narrow`). The first of `answer_forms` is the label, the others are Google's form
  and ChatGPT's where they differ from it. The object's aliases, which the paper's wider set counts
  as right too (its appendix E), are no candidates.
- Distractors are other names of the relation's objects, in that language: labels, inflected forms
  and aliases are strings of their own. Taken are the 50 whose SHA-256 is smallest as a number, all
  where there are fewer, without the fact's own forms and aliases. Another object of the same
  subject may be among them.

Ours is the order of the candidates, by SHA-256 of fact and candidate, so that the place of the
right ones tells nothing. A candidate is a string, whose id is the first 16 hexadecimal digits of
its SHA-256; invisible characters are taken out of all texts before, which changes no choice.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from polyprobe.builder.output.tables import Config
from polyprobe.builder.recipes.table import RECIPES
from polyprobe.builder.sources.fluent_mlama import FAILED, SEPARATOR, Record, read_archive
from polyprobe.schema.columns import SLOT, Row
from polyprobe.system.hashing import hash_text

_FEW = ("P103", "P108", "P159", "P19", "P36", "P364", "P407", "P740")
_MANY = (
    *("P101", "P103", "P108", "P127", "P1376", "P159", "P19", "P20", "P36", "P364", "P407"),
    *("P449", "P463", "P495", "P740"),
)
RELATIONS: Mapping[str, tuple[str, ...]] = {
    "cs": _MANY,
    "da": _FEW,
    "es": _FEW,
    "hr": _MANY,
    "id": _FEW,
    "ru": _MANY,
    "uk": _MANY,
    "vi": _FEW,
    "zh": _FEW,
}
"""Of each language those that the paper's figures are made of; the archive has more."""
WORDINGS = {"": "template", "-sentence": "google", "-chatgpt": "chatgpt"}
CONFIGS = RECIPES["fluent-mlama"].configs
DEFAULT_CONFIG = "es"
N_DISTRACTORS = 50


class Question(NamedTuple):
    """A fact with its candidates; the first of `forms`, all of them right, is the label."""

    record: Record
    forms: list[str]
    candidates: list[str]


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return what the card says beside the common tables: nothing."""
    return {}


def build(config: str, mirror: Path | None = None) -> dict[str, list[Row]]:
    """Return the rows of a configuration, in the order of relation and released file."""
    language, dash, wording = config.partition("-")
    return {
        language: [
            make_row(question, WORDINGS[dash + wording]) for question in ask(language, mirror)
        ]
    }


@lru_cache(maxsize=1)  # the configurations of a language are built one after the other
def ask(language: str, mirror: Path | None = None) -> tuple[Question, ...]:
    """Return the questions of a language, the same for every wording."""
    records = [record for record in read_archive(mirror, [language]) if is_extracted(record)]
    questions: list[Question] = []
    for relation in RELATIONS[language]:
        asked = [record for record in records if record.relation == relation]
        pool = order_pool(asked)
        kept = filter(has_length, asked)
        questions += [Question(r, list_forms(r), choose_candidates(r, pool)) for r in kept]
    return tuple(questions)


def is_extracted(record: Record) -> bool:
    """Tell whether the object was found in every sentence, with something before it.

    Where there is no sentence of ChatGPT's, an empty object does no harm: the logs hold two such
    rows (da), and the paper counts 25 more (id); only the label is right there.
    """
    if record.chatgpt_start is None:
        return record.start not in ("", FAILED)
    found = (record.start, record.form, record.chatgpt_start, record.chatgpt_form)
    return not {"", FAILED}.intersection(found)


def has_length(record: Record) -> bool:
    """Tell whether Google's prompt is a third as long as the others are on average, or longer.

    A shorter one is the trace of another word order, with the object in front.
    """
    others = [record.template_start, record.chatgpt_start]
    lengths = [len(text) for text in others if text is not None]
    return len(record.start) >= sum(lengths) / (3 * len(lengths))


def list_forms(record: Record) -> list[str]:
    """Return the right forms, the label first, each once."""
    forms = (record.object, record.form, record.chatgpt_form)
    return list(dict.fromkeys(form for form in forms if form))


def list_names(record: Record) -> set[str]:
    """Return the right forms and the aliases of the object."""
    aliases = (name.strip() for name in record.aliases.split(SEPARATOR))
    return {*list_forms(record), *aliases} - {""}


def order_pool(records: Iterable[Record]) -> list[str]:
    """Return all names of the objects, those with the smallest digest first."""
    return sorted(set().union(*map(list_names, records)), key=hash_text)


def choose_candidates(record: Record, pool: Sequence[str]) -> list[str]:
    """Return the right forms and the first names of the pool that are none of the object's."""
    own = list_names(record)
    distractors = [name for name in pool if name not in own][:N_DISTRACTORS]
    fact = name_fact(record)
    return sorted([*list_forms(record), *distractors], key=lambda name: hash_text(f"{fact}|{name}"))


def make_row(question: Question, wording: str) -> Row:
    """Return a fact's row in one wording."""
    record, forms, candidates = question
    starts = {
        "template": record.template_start,
        "google": record.start,
        "chatgpt": record.chatgpt_start,
    }
    return Row(
        fact_id=name_fact(record),
        relation=record.relation,
        subject_id=record.subject_id,
        object_id=record.object_id,
        subject=record.subject,
        prompt=f"{starts[wording]}{SLOT}",
        candidates=candidates,
        candidate_ids=[f"{hash_text(name):064x}"[:16] for name in candidates],
        answers=[k for k, name in enumerate(candidates) if name in forms],
        answer_forms=forms,
        template_id=f"fluent-mlama:{record.relation}:{wording}",
    )


def name_fact(record: Record) -> str:
    """Return the fact's id, the same in every language: `P36:Q142:Q90`."""
    return f"{record.relation}:{record.subject_id}:{record.object_id}"

"""Build a sentence version of a configuration: base rows, translations, kept rows.

An outcome is what became of a row in a language: its translation, the object in it, candidates.
"""

import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
from rapidfuzz.fuzz import ratio

from polyprobe.builder.facts import SUBJECT
from polyprobe.builder.facts.labels import normalise
from polyprobe.builder.objects.find import ObjectSpan, find_objects
from polyprobe.builder.objects.lemmatizers import list_unmeasured, load_lemmatizer
from polyprobe.builder.output import folder as disk
from polyprobe.builder.recipes import list_recipe_configs, load_recipe
from polyprobe.builder.recipes.requests import SentenceRequest
from polyprobe.builder.translators import PairTexts, Translation, Translator
from polyprobe.schema.columns import SCHEMA, SENTENCES, SLOT, Row
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.files import write_whole
from polyprobe.system.messages import PolyprobeError, explain_missing_extras, report

Base = dict[str, list[Row]]
COUNTS = ("asked", "translated", "found", "last", "alone", "kept", "kept_last")
COSTS = {"language": pl.String, **dict.fromkeys(COUNTS, pl.Int64)}
LOST = {"language": pl.String, "status": pl.String, "rows": pl.Int64}
FOUND = "found"  # the object is in the sentence
NO_ANSWER = "no-answer"  # the translator gave no usable answer
EMPTY = "empty"
UNCHANGED = "unchanged"  # the translation is the sentence of the source language
NO_OBJECT = "no-object"  # the answer is not in the translation
BAD_SLOT = "bad-slot"  # the sentence itself contains a slot
COLLISION = "collision"  # two candidates have the same text
UNTRANSLATED = (NO_ANSWER, EMPTY, UNCHANGED)
STATUSES = (FOUND, *UNTRANSLATED, NO_OBJECT, BAD_SLOT, COLLISION)
# {(relation, entity): counts of its forms as an answer}
Forms = Mapping[tuple[str, str], Counter[str]]
Find = Callable[..., list[ObjectSpan | None]]


class Outcome(NamedTuple):
    """The outcome of a base row in one language; the fields are the columns of OUTCOMES."""

    language: str
    row: int
    fact_id: str
    english: str  # the sentence in the source language
    translation: str
    label: str
    form: str = ""  # the text of the translation from character `start` to `end`
    start: int = 0
    end: int = 0
    score: float = 0.0  # similarity of form and label, 0 to 100
    status: str = FOUND
    reason: str = ""  # empty if the status is FOUND


ARROW = {str: pa.string(), int: pa.int32(), float: pa.float32()}
OUTCOMES = pa.schema([(name, ARROW[kind]) for name, kind in Outcome.__annotations__.items()])


class Inflected(NamedTuple):
    """The outcomes of a language's rows, and the candidates of the rows that were found."""

    outcomes: list[Outcome]
    candidates: dict[int, list[str]]


class SentenceSettings(NamedTuple):
    """All settings that the rows depend on; `lemmatizers` is {language: lemmatizer}."""

    twin_of: str
    source_language: str
    languages: tuple[str, ...]
    translator: str
    lemmatizers: dict[str, str]
    threshold: float


class SentenceNotes(NamedTuple):
    """How a sentence version was built."""

    settings: SentenceSettings
    command: str
    base: str  # `hash_base` of the base splits
    partial: int  # rows found in every language, without another row of their fact
    rows: int
    costs: pl.DataFrame  # COSTS
    lost: pl.DataFrame  # LOST


def read_base(folder: Path, config: str) -> Base:
    """Return {language: rows} of a configuration on disk; refuse rows that are not parallel."""
    base = {}
    for path in sorted((folder / "data" / config).glob("*.parquet")):
        rows = disk.read_parquet(path).select(SCHEMA.names).to_pylist()
        base[path.stem.replace("_", "-")] = [Row(**row) for row in rows]
    first = next(iter(base))
    keys = {x: [(row.fact_id, row.answers, len(row.candidates)) for row in base[x]] for x in base}
    for language in base:
        if keys[language] != keys[first]:
            raise PolyprobeError(
                f"{folder}/{config}: the splits {first} and {language} are not parallel; build it "
                "again"
            )
    return base


def choose_targets(base: Base, request: SentenceRequest) -> tuple[str, ...]:
    """Return the target languages, sorted: the requested ones (default: all) but the source."""
    source = request.source_language
    place = f"{request.dataset}/{request.config}"
    refuse_languages((source, *request.languages), place, base)
    targets = sorted({*(request.languages or base)} - {source})
    if not targets:
        raise PolyprobeError(
            f"nothing to translate: {source} is the source language; name others with --languages"
        )
    return tuple(targets)


def find_settings(request: SentenceRequest, translator: Translator) -> SentenceSettings:
    """Return all settings that change the rows; PolyprobeError for an unsupported language."""
    source, languages = request.source_language, request.languages
    with explain_missing_extras(f"the translator {translator.name}", any_package=True):
        signs = [translator.sign(*translator.check(source, target)) for target in languages]
    sign = "; ".join(dict.fromkeys(signs)) or translator.signature
    kind, folder = request.lemmatizer, request.stanza_dir
    lemmatizers = {language: load_lemmatizer(kind, language, folder).name for language in languages}
    threshold = float(request.threshold)
    return SentenceSettings(request.config, source, languages, sign, lemmatizers, threshold)


def translate(request: SentenceRequest, base: Base, translator: Translator) -> dict[str, Inflected]:
    """Return the outcomes and candidates of each language, the source language first."""
    options = {x: getattr(request, x) for x in ("lemmatizer", "stanza_dir", "threshold")}
    find = partial(find_objects, **options)
    source = request.source_language
    rows = base[source]
    inflected = {source: keep_source(rows, source)}
    parts = {x: write_texts((source, rows), (x, base[x])) for x in request.languages}
    if line := translator.forecast(parts.values()):
        report(line)
    if names := list_unmeasured(request.languages):
        report(f"finding objects is not measured in {', '.join(names)} (bench/objects.md)")
    for language, part in parts.items():
        outcomes = translate_rows(part, rows, base[language], translator, find)
        inflected[language] = inflect_candidates(base[language], outcomes)
    return inflected


def write_version(
    folder: Path,
    request: SentenceRequest,
    settings: SentenceSettings,
    base: Base,
    inflected: Mapping[str, Inflected],
) -> SentenceNotes:
    """Write the table of outcomes, the sentence version and the card; return the notes."""
    path = folder / "sentences" / f"{request.name}.parquet"
    outcomes = [outcome._asdict() for part in inflected.values() for outcome in part.outcomes]
    table = pa.Table.from_pylist(outcomes, schema=OUTCOMES)
    write_whole(path, partial(disk.write_split, table), "its old content is unchanged")
    common = set.intersection(*(set(part.candidates) for part in inflected.values()))
    # Rows of a fact are matched by their number within it, which a missing row would shift.
    rows = base[request.source_language]
    incomplete = {row.fact_id for number, row in enumerate(rows) if number not in common}
    numbers = [number for number in sorted(common) if rows[number].fact_id not in incomplete]
    lost = count_lost(inflected)
    if not numbers:
        counts = ", ".join(f"{language} {status} {n}" for language, status, n in lost.iter_rows())
        text = f"no fact of {request.config} was found in every language ({counts}); see {path}"
        raise PolyprobeError(text)
    sign = disk.hash_base(folder, request.config, base.keys() & inflected.keys())
    sizes = len(common) - len(numbers), len(numbers)
    costs = count_costs(inflected, numbers)
    notes = SentenceNotes(settings, request.command, sign, *sizes, costs, lost)
    fields = {**settings._asdict(), **notes._asdict()}
    del fields["settings"]
    text = json.dumps(fields, ensure_ascii=False, default=pl.DataFrame.rows)
    disk.write_config(folder, request.name, make_tables(base, inflected, numbers), text)
    recipe = load_recipe(request.dataset)
    disk.write_card(folder, request.dataset, list_recipe_configs(request.dataset), recipe)
    return notes


def count_lost(inflected: Mapping[str, Inflected]) -> pl.DataFrame:
    """Return the number of lost rows by language and status (LOST), the most frequent first."""
    lines = [
        (language, status, count)
        for language, part in inflected.items()
        for status, count in Counter(outcome.status for outcome in part.outcomes).most_common()
        if status != FOUND
    ]
    return pl.DataFrame(lines, LOST, orient="row")


def count_costs(inflected: Mapping[str, Inflected], numbers: Sequence[int]) -> pl.DataFrame:
    """Return the cost of each language (COSTS), in rows."""
    # `asked`, `translated`, `found` and `last` (found, with the object last) count the language's
    # own rows. `alone` counts the rows missing only in this language: without it, the set would
    # have as many more. `kept` and `kept_last` count rows of the set.
    lines = []
    for language, part in inflected.items():
        last = {number for number in part.candidates if is_last(open_slot(part.outcomes[number]))}
        rest = [set(peer.candidates) for name, peer in inflected.items() if name != language]
        translated = sum(outcome.status not in UNTRANSLATED for outcome in part.outcomes)
        gain = len(set.intersection(*rest) - set(part.candidates))
        of_language = (len(part.outcomes), translated, len(part.candidates), len(last), gain)
        lines.append((language, *of_language, len(numbers), len(last.intersection(numbers))))
    return pl.DataFrame(lines, COSTS, orient="row")


def is_last(prompt: str) -> bool:
    """Return whether only punctuation and spaces follow the slot.

    >>> is_last("Die Hauptstadt ist [Y]."), is_last("[Y] ist die Hauptstadt.")
    (True, False)
    """
    rest = prompt.partition(SLOT)[2]
    return all(letter.isspace() or unicodedata.category(letter)[0] == "P" for letter in rest)


def open_slot(outcome: Outcome) -> str:
    """Return the translation with the slot in place of the object."""
    text = outcome.translation
    return text[: outcome.start] + SLOT + text[outcome.end :]


def make_tables(
    base: Base, inflected: Mapping[str, Inflected], numbers: Sequence[int]
) -> dict[str, pa.Table]:
    """Return {language: table of SENTENCES} of the kept rows, aligned by row number."""
    tables = {}
    for language, part in inflected.items():
        rows = []
        for number in numbers:
            outcome = part.outcomes[number]
            prompt = open_slot(outcome)
            values: dict[str, Any] = {"prompt": prompt, "candidates": part.candidates[number]}
            values["answer_forms"] = [*dict.fromkeys((outcome.label, outcome.form))]
            values |= {"object_last": is_last(prompt), "confidence": outcome.score}
            rows.append(base[language][number]._asdict() | values)
        tables[language] = pa.Table.from_pylist(rows, schema=SENTENCES)
    return tables


def keep_source(rows: Sequence[Row], language: str) -> Inflected:
    """Return the rows of the source language: its filled prompts, with unchanged candidates."""
    outcomes = []
    for number, row in enumerate(rows):
        label, text = answer_label(row), fill_prompt(row)
        start = row.prompt.index(SLOT)
        span = (label, start, start + len(label), 100.0)
        outcome = Outcome(language, number, row.fact_id, text, text, label, *span)
        outcomes.append(mark_slots(outcome))
    usable = [outcome.row for outcome in outcomes if outcome.status == FOUND]
    return Inflected(outcomes, {number: rows[number].candidates for number in usable})


def fill_prompt(row: Row) -> str:
    """Return the row's prompt with the label of its answer, uninflected.

    >>> fill_prompt(Row("f", "", "", "", "", "In [Y].", ["Oslo", "Rome"], [], [1], [], ""))
    'In Rome.'
    """
    return row.prompt.replace(SLOT, answer_label(row), 1)


def answer_label(row: Row) -> str:
    """Return the label of the row's answer, or of the first of several."""
    return row.candidates[row.answers[0]]


def mark_slots(outcome: Outcome) -> Outcome:
    """Return the outcome, as BAD_SLOT if its sentence already contains a slot."""
    for mark in (SLOT, SUBJECT):
        if mark in outcome.english or mark in outcome.translation:
            return outcome._replace(status=BAD_SLOT, reason=f"the sentence contains {mark}")
    return outcome


def translate_rows(
    part: PairTexts,
    source: Sequence[Row],
    target: Sequence[Row],
    translator: Translator,
    find: Find,
) -> list[Outcome]:
    """Return the outcomes of the texts of `source` rows; those of `target` have their labels."""
    answers = zip(target, part.sentences, translator.translate_each(*part), strict=True)
    outcomes = [
        read_answer(Outcome(part.target, n, row.fact_id, text, "", answer_label(row)), answer)
        for n, (row, text, answer) in enumerate(answers)
    ]
    usable = [outcome for outcome in outcomes if not outcome.reason]
    texts, labels = ([getattr(x, name) for x in usable] for name in ("translation", "label"))
    aliases = [list_aliases(target[outcome.row]) for outcome in usable]
    spans = find(texts, labels, part.target, aliases=aliases)
    for outcome, span in zip(usable, spans, strict=True):
        if span is None:
            result = lose(outcome, f"no words like {outcome.label!r}")
        else:
            result = outcome._replace(**span._asdict())
            result = reject_untranslated(result, source[outcome.row], target[outcome.row])
        outcomes[outcome.row] = result
    return outcomes


def write_texts(source: tuple[str, Sequence[Row]], target: tuple[str, Sequence[Row]]) -> PairTexts:
    """Return the sentences of `source` with what a translation into `target` needs."""
    pairs = zip(source[1], target[1], strict=True)
    names = [((x.subject, y.subject), (answer_label(x), answer_label(y))) for x, y in pairs]
    terms = [dict(filter(all, part)) for part in names]
    sentences, relations = zip(*((fill_prompt(x), x.relation) for x in source[1]), strict=True)
    return PairTexts(sentences, source[0], target[0], terms, relations)


def read_answer(outcome: Outcome, answer: Translation) -> Outcome:
    """Return the outcome with its translation, or with the reason for rejecting it."""
    # Google puts direction marks after a name in Hebrew: invisible characters go, as everywhere.
    result = outcome._replace(translation=normalise(answer.text, outcome.language))
    if answer.problem:
        status = answer.problem if answer.problem in (EMPTY, UNCHANGED) else NO_ANSWER
        return result._replace(status=status, reason=answer.problem)
    return mark_slots(result)


def list_aliases(row: Row) -> list[str]:
    """Return the other names of the answer; none for a row with several answers."""
    return [] if len(row.answers) > 1 else [f for f in row.answer_forms if f != answer_label(row)]


def lose(outcome: Outcome, reason: str) -> Outcome:
    """Return the outcome as NO_OBJECT."""
    return outcome._replace(form="", start=0, end=0, score=0.0, status=NO_OBJECT, reason=reason)


def reject_untranslated(outcome: Outcome, source: Row, target: Row) -> Outcome:
    """Return the outcome, as NO_OBJECT if the object found is not in the target language."""
    # It equals the label of the source language, `Armenian` for `armenio` (names made of words of
    # the label or an alias are accepted: `Paris`), or is more similar to the subject: `Eslovenia`
    # for `esloveno`, where `Slovenian` was left untranslated.
    form, original = outcome.form.casefold(), answer_label(source).casefold()
    names = [name.casefold() for name in (outcome.label, *list_aliases(target))]
    if form == original and not set(" ".join(names).split()).issuperset(form.split()):
        return lose(outcome, f"{outcome.form!r} was left as it is, for {outcome.label!r}")
    subject = target.subject.casefold()
    # A form equal to a label is its own, whatever the subject (Luxembourg, capital of Luxembourg).
    if outcome.score < 100 and ratio(form, subject) > max(ratio(form, name) for name in names):
        return lose(outcome, f"no words like {outcome.label!r} but the subject, {outcome.form!r}")
    return outcome


def inflect_candidates(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> Inflected:
    """Return the candidates of the rows found; rows with two equal candidates are COLLISION."""
    # Otherwise the answer would be the only candidate that fits the sentence grammatically.
    forms: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.status == FOUND:
            row = rows[outcome.row]
            form = lower_as(outcome.label, outcome.form)
            forms[row.relation, name_entity(row, row.answers[0])][form] += 1
    settled = list(outcomes)
    candidates = {}
    for outcome in outcomes:
        if outcome.status != FOUND:
            continue
        row = rows[outcome.row]
        # Two distractors may share a form although their labels differ.
        texts = resolve_collisions(row, choose_forms(row, outcome.form, forms))
        if outcome.form[:1] != lower_as(outcome.label, outcome.form)[:1]:
            # The answer is capitalized at the beginning of a sentence: so are the others.
            texts = [text[:1].upper() + text[1:] for text in texts]
        counts = Counter(text.casefold() for text in texts)
        if duplicate := next((text for text in texts if counts[text.casefold()] > 1), ""):
            reason = f"two candidates read {duplicate!r}"
            settled[outcome.row] = outcome._replace(status=COLLISION, reason=reason)
        else:
            candidates[outcome.row] = texts
    return Inflected(settled, candidates)


def lower_as(label: str, form: str) -> str:
    """Return the form with a lower-case first letter if the label starts with that letter.

    >>> lower_as("euro", "Euros"), lower_as("euro", "yuan"), lower_as("Paris", "Paris")
    ('euros', 'yuan', 'Paris')
    """
    small = form[:1].lower()
    return small + form[1:] if label.startswith(small) else form


def name_entity(row: Row, place: int) -> str:
    """Return a candidate's id, or its label if the dataset has no ids."""
    return row.candidate_ids[place] if row.candidate_ids else row.candidates[place]


def choose_forms(row: Row, form: str, forms: Forms) -> list[str]:
    """Return the candidates' texts: the answer as in the sentence, distractors to match."""
    # If the answer is inflected here, a distractor takes its most frequent inflected form; if only
    # elsewhere in the relation, this sentence requires no inflection, and distractors keep their
    # labels; if never, a distractor takes its most frequent form. Without one it keeps its label.
    label, place = answer_label(row), row.answers[0]
    inflected = is_inflected(form, label)
    counts = forms.get((row.relation, name_entity(row, place)), Counter())
    plain = not inflected and any(is_inflected(variant, label) for variant in counts)
    texts = list(row.candidates)
    for number, text in enumerate(texts):
        met = forms.get((row.relation, name_entity(row, number)), Counter())
        usable = [f for f, _ in met.most_common() if not inflected or is_inflected(f, text)]
        if usable and not plain:
            texts[number] = usable[0]
    texts[place] = form
    return texts


def is_inflected(form: str, label: str) -> bool:
    """Return whether a form differs from the label, ignoring case."""
    return form.casefold() != label.casefold()


def resolve_collisions(row: Row, texts: Sequence[str]) -> list[str]:
    """Return the texts; equal ones are reset to their labels, except the answer."""
    texts = list(texts)
    while True:
        counts = Counter(text.casefold() for text in texts)
        back = [
            number
            for number, (text, label) in enumerate(zip(texts, row.candidates, strict=True))
            if counts[text.casefold()] > 1 and text != label and number != row.answers[0]
        ]
        if not back:
            return texts
        for number in back:
            texts[number] = row.candidates[number]

"""Build BMLAMA: published rows, repaired ones with parallel, unambiguous candidates; its card."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from importlib import import_module
from itertools import chain
from pathlib import Path

import polars as pl
import pyarrow as pa

from polyprobe.builder.facts.labels import CHINESE, load_converter, mend, normalise, simplify, unmix
from polyprobe.builder.facts.truths import Knowledge, flag_rows, learn
from polyprobe.builder.output.folder import NOTES, Config, codes_table, markdown_table
from polyprobe.builder.sources import TRUTH_SOURCES, bmlama, curated
from polyprobe.schema.columns import SLOT, Row, to_table
from polyprobe.system.files import hash_text, read_toml, shuffle_items
from polyprobe.system.messages import report, track

DEFAULT_CONFIG = "17-repaired"
FIRST, TRADITIONAL, ENTRIES = "-1", "-hant", "-entries"  # suffixes of further configurations
COLONS = frozenset(":：՝")  # the last one is Armenian
SIZE = 10  # candidates of a filled row, the size of most published rows
Templates = Mapping[str, Mapping[str, str]]
"""{relation: {language: replacement of a published template}}"""
AUDIT, VERDICTS, SECOND, READING = (
    Path(__file__).with_name(f"{name}.csv") for name in ("audit", "verdicts", "second", "reading")
)
TEXTS = read_toml(__package__, "card.toml")


def build(config: str, mirror: Path | None = None) -> dict[str, pa.Table]:
    """Return {language: rows} of a configuration, in the published order."""
    if config in bmlama.PUBLISHED:
        ids, relations, columns = bmlama.read_published(config, mirror)
        return {x: bmlama.make_published_table(columns[x], ids, relations) for x in columns}
    published, _, version = config.partition("-repaired")
    linked = dict(bmlama.read_linked(mirror))
    source = linked.pop(published)
    total = len(source.queries)
    report(f"{config}: repairing {total:,} queries")
    right = find_correct(source, list(linked.values()), read_knowledge(mirror))
    repaired = repair_rows(source, right, redraw=version != FIRST)
    report(f"{config}: {total - len(repaired)} of {total} published rows excluded: no distractors")
    templates = bmlama.list_replacements(published)
    if version == ENTRIES:
        templates = bmlama.read_entry_templates()
        before = len(repaired)
        repaired = {row: query for row, query in repaired.items() if query.relation in templates}
        report(f"{config}: {before - len(repaired)} queries left out: no entry for their relation")
    rows = {
        x: [write_row(source, x, *item, templates) for item in repaired.items()]
        for x in source.rows
    }
    if version == TRADITIONAL:
        rows[CHINESE] = write_traditional(rows[CHINESE])
    rows = flag_rows(rows)
    notes = {NOTES: json.dumps({"forms": {x: count_forms(part) for x, part in rows.items()}})}
    return {x: to_table(part).replace_schema_metadata(notes) for x, part in rows.items()}


def count_forms(rows: Sequence[Row]) -> tuple[int, int, int]:
    """Count the rows without a flag: all, with our sentence, with the form of an entry."""
    # an entry has a colon before the slot, outside the subject's label: `[X]: capital — [Y].`
    part = [row for row in rows if not row.flags]
    replacements = sum(row.template_id.startswith("polyprobe:") for row in part)
    heads = [row.prompt.replace(row.subject, "").partition(SLOT)[0] for row in part]
    return len(part), replacements, sum(not COLONS.isdisjoint(head) for head in heads)


@lru_cache(maxsize=1)  # two repaired configurations are built in succession
def read_knowledge(mirror: Path | None = None) -> Knowledge:
    """Return what the sources of truths know."""
    return learn({x: import_module(path).read_truths(mirror) for x, path in TRUTH_SOURCES.items()})


def write_traditional(rows: Sequence[Row]) -> list[Row]:
    """Return Chinese rows in traditional characters."""
    convert = load_converter("s2t").convert
    return [
        row._replace(
            subject=convert(row.subject),
            prompt=convert(row.prompt),
            candidates=list(map(convert, row.candidates)),
            answer_forms=list(map(convert, row.answer_forms)),
        )
        for row in rows
    ]


def repair_rows(
    config: bmlama.Linked, correct: Sequence[Set[str]], redraw: bool = True
) -> dict[int, bmlama.PublishedQuery]:
    """Return {number of the published row from 0: repaired query}; some are dropped."""
    # `correct` are the ids of each query's correct answers. If `redraw`, distractors are drawn by
    # their frequency as answers (`draw_again`); otherwise valid published ones are kept.
    blocks = [config.entities[query.relation] for query in config.queries]
    absent = [names - block.keys() for names, block in zip(correct, blocks, strict=True)]
    strangers = bmlama.name_entities(set().union(*absent), config.labels, list(config.rows))
    answers: dict[str, list[str]] = defaultdict(list)
    for query in config.queries:
        answers[query.relation].append(query.answer)
    repaired = {}
    for number, query in enumerate(track(config.queries, "repairing rows")):
        block = blocks[number]
        entities = [block.get(name) or strangers.get(name) for name in sorted(correct[number])]
        right = [entity for entity in entities if entity]
        made = repair_query(query, block, right)
        if made and redraw:
            made = draw_again(made, block, right, answers[query.relation])
        if made:
            repaired[number] = move_answer(made)
    return repaired


def find_correct(
    config: bmlama.Linked, configs: Sequence[bmlama.Linked], knowledge: Knowledge
) -> list[set[str]]:
    """Return the ids of all correct entities of each query, including its answer."""
    # Correct are the known objects of the subject in the query's relation or in one with the same
    # English template (four relations have "[X] is located in [Y]"), the answers of all published
    # rows with the same prompt in some language (there the prompt is ambiguous), and all entities
    # that `knowledge` infers from these. `configs` are the other published configurations.
    correct = [{query.answer} for query in config.queries]
    for language, columns in config.rows.items():
        answers = defaultdict(set)
        for part in (config, *configs):
            prompts = part.rows[language].prompt if language in part.rows else ()
            for prompt, query in zip(prompts, part.queries, strict=bool(prompts)):
                answers[prompt].add(query.answer)
        for ids, prompt in zip(correct, columns.prompt, strict=True):
            ids |= answers[prompt]
    relations = [query.relation for query in config.queries]
    templates = dict(zip(relations, bmlama.blank_subjects(config.rows["en"]), strict=True))
    peers = {x: [y for y in templates if templates[y] == templates[x]] for x in templates}
    return [
        knowledge.complete(ids, [(name, query.subject_id) for name in peers[query.relation]])
        for ids, query in zip(correct, config.queries, strict=True)
    ]


def repair_query(
    query: bmlama.PublishedQuery,
    entities: Mapping[str, bmlama.Entity],
    correct: Iterable[bmlama.Entity],
) -> bmlama.PublishedQuery | None:
    """Return the query with valid candidates; None if only the answer remains."""
    # A distractor with a fault (`find_faults`) is replaced by another of the relation's `entities`;
    # without one, it is removed. A row with a single candidate is filled with distractors.
    wrong = gather_keys(entity for entity in correct if entity.id != query.answer)
    faults = find_faults(query, entities, wrong)
    if not faults and len(query.candidates) > 1:
        return query
    keys = gather_keys(entities[name] for name in query.candidates if name not in faults)
    barred = {query.subject_id, *query.candidates}
    pool = [x for x in entities.values() if x.id not in barred and not x.conflicts_with(wrong)]
    # Published answers come first; the hash makes the order independent of the file's.
    pool.sort(key=lambda entity: (not entity.published, hash_text(f"{query.fact_id}|{entity.id}")))
    names = []
    codes = []
    for name in query.candidates:
        replacement = pop_candidate(pool, keys) if name in faults else name
        if replacement:
            names.append(replacement)
        if name in faults:
            codes.append(faults[name] if replacement else f"{faults[name]}_removed")
    if len(names) == 1:
        while len(names) < SIZE and (extra := pop_candidate(pool, keys)):
            names.append(extra)
        codes.append("filled")
    if len(names) == 1:
        return None
    return query.repaired(names, *dict.fromkeys(codes))


def gather_keys(entities: Iterable[bmlama.Entity]) -> set[bmlama.Key]:
    """Return all keys of some entities; another entity clashes if it has one of them."""
    return set().union(*(entity.keys for entity in entities))


def find_faults(
    query: bmlama.PublishedQuery, entities: Mapping[str, bmlama.Entity], wrong: Set[bmlama.Key]
) -> dict[str, str]:
    """Return {id: code} of the distractors to replace; `wrong` are keys of correct entities."""
    # Of two candidates with the same label in a language, the second goes, but never the answer.
    faults = {}
    keys = set(entities[query.answer].keys)
    for name in query.candidates:
        entity = entities[name]
        if name == query.answer:
            continue
        if name == query.subject_id:
            faults[name] = "subject"
        elif entity.conflicts_with(wrong):
            faults[name] = "second_answer"
        elif entity.conflicts_with(keys):
            faults[name] = "duplicate_label"
        else:
            keys |= entity.keys
    return faults


def pop_candidate(pool: list[bmlama.Entity], keys: set[bmlama.Key]) -> str:
    """Move the pool's first entity without a clash to `keys`; return its id, '' if all clash."""
    for entity in pool:
        if not entity.conflicts_with(keys):
            pool.remove(entity)
            keys |= entity.keys
            return entity.id
    return ""


def draw_again(
    query: bmlama.PublishedQuery,
    entities: Mapping[str, bmlama.Entity],
    correct: Iterable[bmlama.Entity],
    answers: Sequence[str],
) -> bmlama.PublishedQuery:
    """Return the repaired query with as many distractors, drawn by their frequency as answers."""
    # They are drawn from `answers`, that of each query of the relation, then from its other
    # entities. An entity is thus drawn in proportion to the number of queries that it answers, so
    # that its frequency does not give the answer away. All labels of a row differ.
    reserve = sorted(set(entities).difference(answers))
    names = [query.answer]
    barred = gather_keys([*correct, entities[query.answer]])
    for name in chain(shuffle_items(answers, query.fact_id), shuffle_items(reserve, query.fact_id)):
        if len(names) == len(query.candidates):
            break
        if name != query.subject_id and not entities[name].conflicts_with(barred):
            names.append(name)
            barred |= entities[name].keys
    # Too few for a draw, or the same candidates: the published row stays.
    if len(names) < len(query.candidates) or set(names) == set(query.candidates):
        return query
    return query.repaired(shuffle_items(sorted(names), f"{query.fact_id}|places"), "drawn_again")


def move_answer(query: bmlama.PublishedQuery) -> bmlama.PublishedQuery:
    """Return the query with its answer moved to a position drawn by the hash of its id."""
    names = [name for name in query.candidates if name != query.answer]
    place = hash_text(query.fact_id) % len(query.candidates)
    codes = () if place == len(names) else ("answer_moved",)
    # In the release the answer is always the last candidate.
    names.insert(place, query.answer)
    return query.repaired(names, *codes)


def write_row(
    config: bmlama.Linked,
    language: str,
    number: int,
    query: bmlama.PublishedQuery,
    templates: Templates,
) -> Row:
    """Return a repaired query in one language, without flags."""
    template = templates.get(query.relation, {}).get(language)
    place, columns = list(config.rows).index(language), config.rows[language]
    prompt, subject = columns.prompt[number], columns.subject[number]
    offered, before = columns.candidates[number], config.queries[number].candidates
    block = config.entities[query.relation]
    label = mend(subject, language)
    name = bmlama.turn(bmlama.NAMES.get((language, query.subject_id), label), language)
    text = template or mend(prompt, language).replace(label, "[X]")
    labels = [block[x].labels[place] for x in query.candidates]
    meant = [block[x].original[place] for x in before]
    codes = {*query.repairs}
    codes |= {"parallel"} if [mend(x, language) for x in offered] != meant else set()
    original = [block[x].original[place] for x in query.candidates]
    codes |= {"label"} if labels != original or name != label else set()
    codes |= {"template"} if template else set()
    # Damage of a published template does not concern a row with ours.
    for published in (subject, *offered, *([] if template else [prompt])):
        codes.update(find_codes(published, language))
    index = query.candidates.index(query.answer)
    return Row(
        fact_id=query.fact_id,
        relation=query.relation,
        subject_id=query.subject_id,
        object_id=query.answer,
        subject=name,
        prompt=text.replace("[X]", name),
        candidates=labels,
        candidate_ids=list(query.candidates),
        answers=[index],
        answer_forms=[labels[index]],
        template_id=f"polyprobe:{query.relation}" if template else query.relation,
        repairs=sorted(codes, key=list(bmlama.REPAIRS).index),
        published_row=query.published_row,
    )


def find_codes(text: str, language: str) -> list[str]:
    """Return the codes of the repairs of a published text."""
    if mend(text, language) == text:
        return []
    checks = {
        "invisible_characters": normalise(text, language) != text,
        "mixed_alphabets": unmix(text) != text,
        "simplified": simplify(text, language) != text,
    }
    return [code for code, is_so in checks.items() if is_so]


def read_audit() -> pl.DataFrame:
    """Read what bench/bmlama_audit.py writes, a line for each language (AuditLine)."""
    return pl.read_csv(AUDIT, schema_overrides={"config": pl.String}, infer_schema_length=None)


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the parts of the card that only BMLAMA has."""
    audit = read_audit()
    counts = {config.name: config.repairs for config in configs if config.repairs}
    repairs = codes_table(("code", "change"), counts, bmlama.REPAIRS)
    lines = audit.unique("config", keep="first", maintain_order=True).iter_rows(named=True)
    draws = [TEXTS["frequency"].format(**line) for line in lines]  # accuracy by frequent answers
    columns, entries = TEXTS["languages"], bmlama.read_entry_templates()
    rows = audit.filter(config="17").select(*columns).iter_rows()  # as published
    languages = ((*row[:4], *(f"{ceiling:.3f}" for ceiling in row[4:])) for row in rows)
    return {
        "repairs": repairs if counts else "No configuration here is repaired.",
        "audit": compare_audits(audit),
        "audit_languages": markdown_table(list(columns.values()), languages),
        "verdicts": verdicts_table(VERDICTS, "wrong", ["right"]),
        "reading": verdicts_table(READING, "ungrammatical", ["good", "label", "meaning"]),
        "draw": TEXTS["draw"].format(figures=", ".join(draws)),
        "barred": TEXTS["barred"].format(**Counter(pl.read_csv(curated.FOUND)["verdict"])),
        "second": second_answers(),
        "forms": forms_table(configs),
        "no_entries": ", ".join(x for x, *_ in bmlama.BLOCKS if x not in entries),
    }


def compare_audits(audit: pl.DataFrame) -> str:
    """Return one line for each figure and one column for each configuration."""
    parts = audit.partition_by("config", maintain_order=True)
    head = ("", *(f"`{part['config'][0]}`" for part in parts))
    audited = TEXTS["audit"].items()
    lines = ((title, *(show_figure(part, *line) for part in parts)) for title, line in audited)
    return markdown_table(head, lines)


def show_figure(audit: pl.DataFrame, field: str, form: str, worst: str = "") -> str:
    """Return a figure of a configuration: the smallest, or the worst with its language."""
    row = audit.sort(field, descending=worst == "most", maintain_order=True).row(0, named=True)
    perfect = {"most": 0, "least": 1}.get(worst)
    text = f"{row[field]:{form}}"
    if perfect is None:
        return text
    return f"{perfect}" if row[field] == perfect else f"{text} ({row['language']})"


def verdicts_table(path: Path, title: str, right: Sequence[str]) -> str:
    """Return one line for each language: judged rows, and those not `right` with an interval."""
    verdicts = pl.read_csv(path)
    parts = {x: verdicts.filter(language=x) for x in verdicts["language"].unique().sort()}
    rows = []
    for name, part in {**parts, "all": verdicts}.items():
        wrong = int((~part["verdict"].is_in(right)).sum())
        rows.append((name, f"{len(part)}", f"{wrong}", format_wilson(wrong, len(part))))
    return markdown_table(("language", "judged", title, "rate, Wilson's 95% interval"), rows)


def second_answers() -> str:
    """Return the number of rows read that have a correct or arguable distractor."""
    by_row = pl.read_csv(SECOND).group_by("published_row").agg("verdict")["verdict"].to_list()
    right = sum("right" in verdicts for verdicts in by_row)
    more = sum(set(verdicts) != {"none"} for verdicts in by_row) - right
    shares = {"right": right, "more": more}
    rates = {f"{name}_rate": format_wilson(n, len(by_row)) for name, n in shares.items()}
    return str(TEXTS["second"].format(total=len(by_row), **shares, **rates))


def forms_table(configs: Sequence[Config]) -> str:
    """Return one line for each language: shares of our sentences and of entries (`count_forms`)."""
    forms = {x.name: x.notes["forms"] for x in configs if "forms" in x.notes}
    head = [f"`{name}`, {title}" for name in forms for title in ("ours", "entries")]
    rows = []
    for language in sorted(set().union(*forms.values())):
        counts = [of.get(language, (0, 0, 0)) for of in forms.values()]
        shares = [(n and f"{k / n:.2f}") or "–" for n, *parts in counts for k in parts]
        rows.append((f"`{language}`", *shares))
    return markdown_table(("language", *head), rows)


def format_wilson(count: int, total: int) -> str:
    """Return a share with Wilson's 95% interval."""
    from scipy.stats import binomtest  # here: only this card needs SciPy, which takes 0.4 s

    interval = binomtest(count, total).proportion_ci(method="wilson")
    return f"{count / total:.1%}, {interval.low:.1%} to {interval.high:.1%}"

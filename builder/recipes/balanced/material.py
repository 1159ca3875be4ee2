"""Material of a balanced set: facts, borrowed labels and templates, sentences; their coverage."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import polars as pl

from polyprobe.builder.annotated.entities import Traits, read_traits
from polyprobe.builder.annotated.grammar import Prompt, parse_prompt
from polyprobe.builder.annotated.inflection import find_table
from polyprobe.builder.annotated.languages import load_inflector
from polyprobe.builder.annotated.render import UNKNOWN, Renderer
from polyprobe.builder.facts import FACTS, LABELS, PROMPTS, TEMPLATES, Facts
from polyprobe.builder.facts.labels import clean_columns, clean_facts
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.sources import TRUTH_SOURCES, load_source, xfactr
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.download import check_archive, read_files
from polyprobe.system.files import read_table_rows
from polyprobe.system.messages import PolyprobeError, refuse_unknown, report, track

FALLBACK = "bmlama"  # provides templates for all of its relations in 53 languages
COUNTS = ("facts", "lost", "relations", "labelled")
COSTS = {"language": pl.String, "asked": pl.Boolean, **dict.fromkeys(COUNTS, pl.Int64)}
LABELLED, PROMPTED, TEMPLATED = range(3)  # the layers of a coverage
UNLABELLED = "facts without a sentence: no label in the language"

# {(language, relation): (mark in the file, correct mark)}: marks that are wrong for any label.
FIXED_MARKS = {
    (x["language"], x["relation"]): (x["released"], x["correct"])
    for x in read_table_rows(__package__, "marks.csv")
}


class Provenance(NamedTuple):
    """The origin of data."""

    source: str
    role: str  # facts, labels, templates, or truths: correct answers, excluded as distractors
    home: str
    commit: str  # empty for a URL
    licence: str


class Coverage(NamedTuple):
    """Availability of facts: the boolean array `layers[layer, fact, language]`."""

    # LABELLED: subject and object have labels. PROMPTED: LABELLED, and the source has a sentence
    # for the fact. TEMPLATED: LABELLED, and the relation has a template. A fact can be asked in a
    # set of languages if it is PROMPTED in all of them or TEMPLATED in all of them.

    facts: pl.DataFrame
    languages: tuple[str, ...]
    layers: np.ndarray

    def columns(self, languages: Sequence[str]) -> list[int]:
        """Return the column indices of the languages."""
        return [self.languages.index(language) for language in languages]

    def within(self, languages: Sequence[str]) -> np.ndarray:
        """Return an array (layers, facts): whether a fact is available in all of the languages."""
        return np.all(self.layers[:, :, self.columns(languages)], axis=2)


class Material(NamedTuple):
    """The data that a balanced set is built from."""

    content: Facts  # facts of the source, with completed labels
    templates: pl.DataFrame  # TEMPLATES, in order of preference, without duplicates
    coverage: Coverage  # of the requested relations, in each language of the source
    borrowed: dict[str, int]  # number of labels that each source of `--labels` completed
    sources: tuple[Provenance, ...]


def gather(request: BalancedRequest, mirror: Path | None = None) -> Material:
    """Read the material of a request, in every language of the source."""
    modules, languages = load_sources(request)
    lenders = {name: load_lender(request, name) for name in request.labels}
    truths = {name: import_module(path) for name, path in TRUTH_SOURCES.items()}
    # A missing archive is named before minutes of reading.
    for module in (*modules.values(), *lenders.values(), *truths.values()):
        if repository := getattr(module, "REPOSITORY", None):
            check_archive(repository, mirror)
    report(f"reading the facts of {request.source}")
    content = reduce(merge_facts, (module.read_facts(mirror) for module in modules.values()))
    check_relations(request, content.facts["relation"].unique())
    sources = [describe_source(name, module, "facts") for name, module in modules.items()]
    borrowed = {}
    for name, lender in lenders.items():
        shared = sorted({*languages} & {*lender.LANGUAGES})
        before = content.labels.height
        report(f"reading the labels of {name}")
        content = complete_labels(content, lender.read_facts(mirror, shared).labels)
        borrowed[name] = content.labels.height - before
        sources.append(describe_source(name, lender, "labels"))
    if request.wording:
        content = add_sentences(request, modules[request.sources[0]], content, mirror)
    fallback = pl.DataFrame(schema=TEMPLATES)
    part = content.templates.filter(pl.col("language").is_in(languages))
    n_relations, pairs = content.facts["relation"].n_unique(), part.select("language", "relation")
    # A relation without a template in one of the languages gets one.
    if FALLBACK not in modules and pairs.n_unique() < len(languages) * n_relations:
        lender = load_source(FALLBACK)
        fallback = pl.DataFrame(lender.read_fallback_templates(mirror), TEMPLATES, orient="row")
        sources.append(describe_source(FALLBACK, lender, "templates"))
    if request.template_translators:
        translated, engines = translate_missing(request, content, fallback)
        fallback = pl.concat([fallback, translated])
        sources.append(Provenance("translated", "templates", engines, "", "made by machine"))
    # Every source of facts bars distractors, whichever gives the rows.
    sources += [describe_source(name, module, "truths") for name, module in truths.items()]
    material = assemble(request, clean_facts(content), fallback, languages)
    return material._replace(borrowed=borrowed, sources=tuple(sources))


def load_sources(request: BalancedRequest) -> tuple[dict[str, ModuleType], list[str]]:
    """Return the modules of the sources, and all their languages."""
    modules = {name: load_source(name) for name in request.sources}
    languages = [*dict.fromkeys(x for module in modules.values() for x in module.LANGUAGES)]
    refuse_languages(request.languages, request.source, languages)
    return modules, languages


def merge_facts(first: Facts, second: Facts) -> Facts:
    """Return the facts of both; labels and templates of the second where the first has none."""
    tables = {
        name: pl.concat([getattr(part, name) for part in (first, second)]).unique().sort(pl.all())
        for name in ("facts", "prompts")
    }
    templates = choose_templates(first.templates, second.templates)
    merged = first._replace(**tables, templates=templates)
    repairs = Counter(first.repairs) + Counter(second.repairs)
    return complete_labels(merged, second.labels)._replace(repairs=dict(repairs))


def load_lender(request: BalancedRequest, name: str) -> ModuleType:
    """Return the module of a source of `--labels`, which has some of the languages."""
    lender = load_source(name)
    if request.languages and not {*request.languages} & {*lender.LANGUAGES}:
        raise PolyprobeError(
            f"--labels {name}: it has none of {', '.join(request.languages)}; "
            f"available: {', '.join(lender.LANGUAGES)}"
        )
    return lender


def check_relations(request: BalancedRequest, names: Iterable[str]) -> None:
    """Refuse a relation that the source does not have, and a request that leaves none."""
    names = set(names)
    refuse_unknown("relation", (*request.relations, *request.exclude), request.source, names)
    if not set(request.relations or names) - set(request.exclude):
        raise PolyprobeError(f"--exclude leaves no relation of {request.source}; name fewer")


def describe_source(name: str, source: ModuleType, role: str) -> Provenance:
    """Return the provenance of a source."""
    repository = getattr(source, "REPOSITORY", None)
    home = repository.name if repository else source.URL
    return Provenance(name, role, home, repository.commit if repository else "", source.LICENCE)


def complete_labels(content: Facts, borrowed: pl.DataFrame) -> Facts:
    """Return the facts with borrowed labels for their entities without one."""
    entities = pl.concat([content.facts["subject_id"], content.facts["object_id"]]).unique()
    new = borrowed.join(content.labels, on=["language", "id"], how="anti").filter(
        pl.col("id").is_in(entities.implode())
    )
    labels = pl.concat([content.labels.select(*LABELS), new.select(*LABELS)])
    return content._replace(labels=labels.sort(*LABELS))


def add_sentences(
    request: BalancedRequest, source: ModuleType, content: Facts, mirror: Path | None
) -> Facts:
    """Return the facts with the source's own sentences, rendered if its prompts are annotated."""
    if getattr(source, "MARKED_PROMPTS", False):
        languages = request.languages or source.LANGUAGES
        return render_sentences(content, mirror, languages, request.unimorph)
    if content.prompts.is_empty():
        raise PolyprobeError(
            f"--wording {request.wording}: {request.source} has no sentences of its own; build its "
            "templates, then the sentence version: polyprobe build sentences balanced --config NAME"
        )
    return content


def translate_missing(
    request: BalancedRequest, content: Facts, fallback: pl.DataFrame
) -> tuple[pl.DataFrame, str]:
    """Return translated templates (TEMPLATES) for languages without one, and the signatures."""
    from polyprobe.builder.translators import templates as translation

    engines = translation.load_translators(request.template_translators)
    relations = set(choose_relations(content.facts, request)["relation"])
    templates = choose_templates(content.templates, fallback)
    made = translation.fill_missing(
        templates, request.languages, relations, engines, request.trusted, agree=request.agree
    )
    for line in translation.describe_outcomes(made):
        report(line)
    return made.templates, "; ".join(engine.signature for engine in engines.values())


def assemble(
    request: BalancedRequest, content: Facts, fallback: pl.DataFrame, languages: Sequence[str]
) -> Material:
    """Return the material of clean facts; `fallback` (TEMPLATES) provides missing templates."""
    borrowed = fallback.filter(pl.col("language").is_in(list(languages)))
    templates = clean_columns(choose_templates(content.templates, borrowed), ["template"])
    wording = ["language", "relation", "template"]
    templates = templates.unique(wording, keep="first", maintain_order=True)
    facts = choose_relations(content.facts, request)
    ids = pl.concat([facts["subject_id"], facts["object_id"]]).unique().sort().alias("id")
    has_label = mark(content.labels, ids.to_frame(), languages)
    ends = (ids.search_sorted(facts[end]).to_numpy() for end in ("subject_id", "object_id"))
    labelled = np.logical_and(*(has_label[places] for places in ends))
    templated = mark(templates, facts.select("relation"), languages)
    prompted = mark(content.prompts, facts, languages)
    layers = np.stack([labelled, labelled & prompted, labelled & templated])
    if request.wording:  # a fact needs both a sentence of the source and a template
        layers[[PROMPTED, TEMPLATED]] = layers[PROMPTED] & layers[TEMPLATED]
    return Material(content, templates, Coverage(facts, tuple(languages), layers), {}, ())


def choose_templates(templates: pl.DataFrame, fallback: pl.DataFrame) -> pl.DataFrame:
    """Return the templates of each language and relation: the source's, or those of `fallback`."""
    keys = ["language", "relation"]
    borrowed = fallback.join(templates, on=keys, how="anti", maintain_order="left")
    rows = pl.concat([templates.select(*TEMPLATES), borrowed.select(*TEMPLATES)])
    return rows.sort(keys, maintain_order=True)


def choose_relations(facts: pl.DataFrame, request: BalancedRequest) -> pl.DataFrame:
    """Return the facts of the requested relations."""
    relations = set(request.relations or facts["relation"]) - set(request.exclude)
    return facts.filter(pl.col("relation").is_in(sorted(relations)))


def mark(table: pl.DataFrame, rows: pl.DataFrame, languages: Sequence[str]) -> np.ndarray:
    """Return an array (rows, languages): whether `table` has the row's values in the language."""
    columns = pl.DataFrame({"language": languages}, schema={"language": pl.String})
    keys = table.select("language", *rows.columns).unique()
    hits = keys.join(rows.with_row_index("row"), on=rows.columns)
    hits = hits.join(columns.with_row_index("column"), on="language")
    marks = np.zeros((rows.height, columns.height), dtype=bool)
    marks[hits["row"].to_numpy(), hits["column"].to_numpy()] = True
    return marks


def render_sentences(
    content: Facts, mirror: Path | None, languages: Sequence[str], unimorph: Path | None = None
) -> Facts:
    """Return the facts with a sentence of each in each language with labels of both its ends."""
    # `unimorph` is a folder with UniMorph's tables. Marks that could not be applied, and facts
    # without a label, are counted among the repairs, as `LANGUAGE: description`.
    refuse_languages(languages, "xfactr's prompts", xfactr.LANGUAGES)
    if unimorph and not any(find_table(unimorph, language) for language in languages):
        raise PolyprobeError(
            f"{unimorph} has no UniMorph table of {', '.join(languages)}; expected files as rus or "
            "rus/rus"
        )
    repairs = dict(content.repairs)
    prompts = read_prompts(mirror, languages)
    traits = read_traits(xfactr.REPOSITORY, mirror)
    rows: set[tuple[str, ...]] = set()
    for language in track(sorted(set(languages)), "writing xfactr's sentences"):
        ends = content.labels.filter(language=language)
        subjects = ends.select(subject_id="id", subject="label")
        objects = ends.select(object_id="id", object="label")
        facts = content.facts.select(*FACTS).join(subjects, on="subject_id")
        facts = facts.join(objects, on="object_id")
        lost = Counter({UNLABELLED: content.facts.height - facts.height})
        renderer = Renderer(language, load_inflector(language, unimorph))
        made = render_rows(facts, prompts[language], traits, renderer, lost)
        rows.update((language, *row) for row in made)
        repairs |= {f"{language}: {reason}": count for reason, count in lost.items()}
    rendered = pl.DataFrame(sorted(rows), PROMPTS, orient="row")
    return content._replace(prompts=rendered, repairs=repairs)


def read_prompts(mirror: Path | None, languages: Sequence[str]) -> dict[str, dict[str, Prompt]]:
    """Return the prompts as {language: {relation: tree}}, repaired."""
    [content] = read_files(xfactr.REPOSITORY, [xfactr.PROMPT_FILE], mirror)
    prompts: dict[str, dict[str, Prompt]] = {language: {} for language in languages}
    for language, relation, _, prompt in xfactr.list_prompts(content, languages):
        text = prompt.replace(*FIXED_MARKS.get((language, relation), ("", "")), 1)
        prompts[language][relation] = parse_prompt(text, language, relation)
    return prompts


def render_rows(
    facts: pl.DataFrame,
    prompts: Mapping[str, Prompt],
    traits: Mapping[str, Traits],
    renderer: Renderer,
    lost: Counter[str],
) -> Iterator[tuple[str, ...]]:
    """Yield FACTS, `prompt` and `form` of the facts whose relation has a prompt."""
    # `facts` has FACTS, `subject` and `object`; `lost` counts the marks that could not be applied.
    for relation, subject_id, object_id, subject, object_ in facts.iter_rows():
        if relation in prompts:
            ends = (traits.get(subject_id, UNKNOWN), traits.get(object_id, UNKNOWN))
            text, form, reasons = renderer.render(prompts[relation], subject, object_, *ends)
            lost.update(reasons)
            yield relation, subject_id, object_id, text, form


def trace_costs(coverage: Coverage, languages: Sequence[str]) -> pl.DataFrame:
    """Return the cost of each language in facts (COSTS)."""
    # The requested languages come first, in the order in which each step keeps most facts: those
    # that can be asked in all languages so far (`facts`), `lost` with this language, and `labelled`
    # in all so far. The others follow, each as if added alone to the requested ones.
    languages = languages or coverage.languages
    alive = np.ones(coverage.layers.shape[:2], dtype=bool)
    steps, pending, before = [], sorted(set(languages)), coverage.facts.height
    # Greedy: the best order of all languages together would need a trial of every set.
    while pending:
        [best, *_] = try_each(coverage, alive, pending, before)
        steps.append((best[0], True, *best[1:]))
        before = best[1]
        pending.remove(best[0])
        alive &= coverage.within([best[0]])
    remainder = sorted(set(coverage.languages) - set(languages))
    steps += [(row[0], False, *row[1:]) for row in try_each(coverage, alive, remainder, before)]
    return pl.DataFrame(steps, schema=COSTS, orient="row")


def try_each(
    coverage: Coverage, alive: np.ndarray, languages: Sequence[str], before: int
) -> list[tuple[str, int, int, int, int]]:
    """Return (language, facts, lost, relations, labelled) of each single addition, best first."""
    # `alive` (layers, facts) marks what all languages so far have; `before` counts these facts.
    places = alive[LABELLED].nonzero()[0]
    relations = coverage.facts["relation"].cast(pl.Categorical).to_physical().to_numpy()[places]
    after = coverage.layers[:, places][:, :, coverage.columns(languages)] & alive[:, places, None]
    complete = has_wording(after)
    rows = [
        (language, int(n := complete[:, i].sum()), before - int(n),
         np.unique(relations[complete[:, i]]).size, int(after[LABELLED, :, i].sum()))
        for i, language in enumerate(languages)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row[1], -row[4], row[0]))


def has_wording(layers: np.ndarray) -> np.ndarray:
    """Return whether each fact has the source's sentences in all languages, or templates in all."""
    return layers[PROMPTED] | layers[TEMPLATED]

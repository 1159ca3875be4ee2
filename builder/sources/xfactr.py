"""X-FACTR (Jiang et al., EMNLP 2020, arXiv:2010.06189): 46 relations, prompts in 23 languages.

The facts are those of its two samples of T-REx, mTREx and mTRExf. The files with labels
(`*_unicode_escape.txt`) are not in the repository. An entity with a single alias has it as its
label. Otherwise its label in English is its form in the facts that is an alias and occurs in most
relations; in 12 other languages it is that of the authors' lists for LAMA's entities, and elsewhere
it has none. Of 9,411 entities that are also in mParaRel, 80% have the same English label there, and
99% of those with one alias. Of 99,352 listed labels of entities with one alias, 98,532 equal it.
The annotated prompts of 9 languages are reduced (`reduce_prompt`) or written out for each fact
(`annotated.render`).
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter
from pathlib import Path, PurePosixPath

import polars as pl

from polyprobe.builder.annotated import grammar
from polyprobe.builder.facts import FACTS, LABELS, TEMPLATES, Facts, is_template
from polyprobe.schema.languages import show_language
from polyprobe.system.download import Repository, read_files, read_sums
from polyprobe.system.messages import track

from . import SOURCES
from .mpararel import ENDS, TUPLES, list_facts

ABOUT = SOURCES["xfactr"]
LICENCE, REASONS = ABOUT["licence"], ABOUT["repairs"]
LANGUAGES = tuple(ABOUT["languages"])
MARKED_PROMPTS = True  # can be written out as sentences: `recipes.balanced.material`
REPOSITORY = Repository(**ABOUT["repository"], sha256=read_sums(__package__, "xfactr.sha256"))
PROMPT_FILE = "data/TREx_prompts.csv"
# Languages with a list of labels, in a folder with the language's name.
LISTS = ("bn", "el", "es", "fr", "he", "hu", "ko", "mr", "ru", "tr", "vi", "yo")
OBJECTS = "_multi_rel.txt"  # all objects in Wikidata of a sample's subjects, for the evaluation
TRAITS = ("_gender.txt", "_instanceof.txt")  # only for sentences: `annotated.entities`

# {(language, relation): (released text, correct text)}
FIXES = {(x, y): texts for x, of in ABOUT["fixes"].items() for y, texts in of.items()}
SWAPPED = {(language, relation) for language, of in ABOUT["swapped"].items() for relation in of}

ALIASES = {"language": pl.String, "id": pl.String, "alias": pl.String}
ALIAS, LISTED, FORM = "alias", "list", "form"  # where a label comes from
UNREDUCED = "[?]"  # makes a template invalid
# In languages without prepositions: in, on, from, to, with.
LOCAL = re.compile(r"LOC|ABL|DAT|INST|.+\+.+", re.IGNORECASE)
WITHOUT_PREPOSITIONS = ("bn", "hu", "mr", "tr")


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the facts, and labels and templates in some languages (default: all)."""
    selection = sorted(set(LANGUAGES if languages is None else languages))
    contents = read_paths(list_source_paths(selection), mirror)
    repairs: Counter[str] = Counter()
    tuples = parse_tuples(contents)
    forms = list_forms(tuples if "en" in selection else tuples.clear())
    aliases = parse_aliases(contents)
    lists = parse_lists(contents)
    rows = []
    for language, relation, released, prompt in list_prompts(contents[PROMPT_FILE], selection):
        template, lost = reduce_prompt(prompt, language, relation)
        if is_template(template):
            repairs.update(lost)
            repairs[REASONS["repaired_slots"]] += (language, relation) in FIXES
            repairs[REASONS["swapped_slots"]] += (language, relation) in SWAPPED
            repairs[REASONS["blanks"]] += " ".join(released.split()) != released
            text = " ".join(template.split())
            rows.append((language, relation, f"xfactr:{relation}:0", text))
        else:
            repairs[REASONS["left_out"]] += 1
    templates = pl.DataFrame(rows, schema=TEMPLATES, orient="row")
    labels = choose_entity_labels(forms, aliases, lists, repairs).drop("kind")
    counts = {reason: count for reason, count in sorted(repairs.items()) if count}
    return Facts(list_facts(tuples), labels, counts, templates)


def list_source_paths(languages: Sequence[str]) -> list[str]:
    """Return the paths of the prompts, of all facts, and of names in some languages."""
    unused = {name_list(language) for language in set(LISTS) - set(languages)}
    return [
        path
        for path in sorted(REPOSITORY.sha256)
        if ("/alias/" not in path or PurePosixPath(path).stem in languages)
        and path not in unused
        and not path.endswith((OBJECTS, *TRAITS))
    ]


def name_list(language: str) -> str:
    """Return the path of the authors' list of labels in a language."""
    name = show_language(language).lower()
    return f"data/{name}/TREx_{name}.txt"


def read_truths(mirror: Path | None) -> pl.DataFrame:
    """Return all facts of X-FACTR (`facts.FACTS`): its samples, and its lists of objects."""
    paths = sorted(path for path in REPOSITORY.sha256 if "/sub/" in path or path.endswith(OBJECTS))
    contents = read_paths(paths, mirror)
    listed = [x for path in paths if path.endswith(OBJECTS) for x in parse_objects(contents[path])]
    tables = [list_facts(parse_tuples(contents)), pl.DataFrame(listed, schema=FACTS, orient="row")]
    return pl.concat(tables).unique().sort(pl.all())


def parse_objects(content: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield FACTS of a list of objects; a line has a subject, a relation and objects."""
    for line in content.decode("utf-8").splitlines():
        subject, relation, objects = line.split("\t")
        yield from ((relation, subject, answer) for answer in objects.split())


def read_paths(paths: Sequence[str], mirror: Path | None) -> dict[str, bytes]:
    """Return {path: content} of files in the repository."""
    contents = read_files(REPOSITORY, paths, mirror)
    return dict(zip(track(paths, "reading xfactr"), contents, strict=True))


def parse_tuples(contents: Mapping[str, bytes]) -> pl.DataFrame:
    """Return the tuples of `data/*/sub/RELATION.jsonl`, with the columns `relation` and TUPLES."""
    parts = [(PurePosixPath(x).stem, content) for x, content in contents.items() if "/sub/" in x]
    return pl.concat(
        pl.read_ndjson(io.BytesIO(content), schema=TUPLES).with_columns(relation=pl.lit(relation))
        for relation, content in parts
    )


def list_forms(tuples: pl.DataFrame) -> pl.DataFrame:
    """Return the English forms of each entity: ALIASES and the counts `relations` and `facts`."""
    ends = [tuples.select("relation", id=f"{end}_uri", alias=f"{end}_label") for end in ENDS]
    groups = pl.concat(ends).group_by("id", "alias")
    counts = groups.agg(relations=pl.col("relation").n_unique(), facts=pl.len())
    return counts.select(pl.lit("en").alias("language"), "id", "alias", "relations", "facts")


def parse_aliases(contents: Mapping[str, bytes]) -> pl.DataFrame:
    """Return the ALIASES of `data/alias/*/LANGUAGE.txt`; a line has an id and aliases."""
    frames = [pl.DataFrame(schema=ALIASES)]
    for path, content in contents.items():
        if "/alias/" in path:
            lines = content.decode("utf-8").removesuffix("\n").split("\n")
            fields = pl.Series(lines).str.split("\t")
            frame = pl.DataFrame({"id": fields.list.first(), "alias": fields.list.slice(1)})
            language = pl.lit(PurePosixPath(path).stem).alias("language")
            frames.append(frame.explode("alias").select(language, "id", "alias"))
    return pl.concat(frames).unique()


def parse_lists(contents: Mapping[str, bytes]) -> pl.DataFrame:
    """Return LABELS of the authors' lists; a line has an id and a label."""
    texts = ((x, contents.get(name_list(x), b"").decode("utf-8")) for x in LISTS)
    rows = [(language, *line.split("\t")) for language, text in texts for line in text.splitlines()]
    return pl.DataFrame(rows, schema=LABELS, orient="row").filter(pl.col("label") != "")


def choose_entity_labels(
    forms: pl.DataFrame, aliases: pl.DataFrame, lists: pl.DataFrame, repairs: Counter[str]
) -> pl.DataFrame:
    """Return LABELS and `kind`: ALIAS, an entity's single alias; LISTED; or FORM, the best form."""
    # The order of forms: aliases first, then by number of relations, of facts, and by code point.
    # Choices and entities without a label are counted in `repairs`.
    entity = ["language", "id"]
    several = aliases.select(entity).is_duplicated()
    single = aliases.filter(~several)
    ambiguous = forms.join(single, on=entity, how="anti")
    repairs[REASONS["chosen"]] += ambiguous.filter(ambiguous["id"].is_duplicated())["id"].n_unique()
    ranks = forms.join(aliases.with_columns(known=True), on=[*entity, "alias"], how="left").sort(
        pl.col("known").fill_null(False), "relations", "facts", "alias",
        descending=[True, True, True, False],
    )  # fmt: skip
    kinds = {ALIAS: single, LISTED: lists.rename({"label": "alias"}), FORM: ranks}
    tables = [part.select(*ALIASES, kind=pl.lit(kind)) for kind, part in kinds.items()]
    labels = pl.concat(tables).unique(entity, keep="first", maintain_order=True)
    unnamed = aliases.filter(several).join(labels, on=entity, how="anti")
    repairs[REASONS["open"]] += unnamed.n_unique(entity)
    return labels.rename({"alias": "label"}).sort(pl.all())


def list_prompts(content: bytes, languages: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield language, relation, released prompt and corrected one of PROMPT_FILE, in order."""
    lines = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""))
    for language, line in product(languages, sorted(lines, key=itemgetter("pid"))):
        relation, prompt = line["pid"], line[language]
        yield language, relation, prompt, fix_prompt(prompt, language, relation)


def fix_prompt(prompt: str, language: str, relation: str) -> str:
    """Return the prompt corrected by FIXES and SWAPPED, with its marks."""
    released, right = FIXES.get((language, relation), ("", ""))
    prompt = prompt.replace(released, right, 1)
    if (language, relation) in SWAPPED:
        return prompt.translate(str.maketrans("XY", "YX"))
    return prompt


def reduce_prompt(prompt: str, language: str, relation: str = "") -> tuple[str, list[str]]:
    """Return the prompt without its marks, and the name of the loss for each mark with one.

    >>> reduce_prompt("[DEF;X] [X.Nom] [ήταν;X-Number=SG|ήταν;X-Number=PL] [Y] .", "el")[0]
    '[X] ήταν [Y] .'
    """
    # Marks whose loss would change more than grammar make the template invalid: the French choice
    # of en, au, aux and à, and the Bengali one of persons and things.
    lost: list[str] = []
    template = ""
    dropped = False
    for node in grammar.parse_prompt(prompt, language, relation):
        text, reason = reduce_node(node, language)
        if reason:
            lost.append(REASONS[reason])
        # The space after a dropped mark would double the one before it.
        template += text.removeprefix(" ") if dropped and isinstance(node, grammar.Text) else text
        dropped = not text
    return template, lost


def reduce_node(node: grammar.Node, language: str) -> tuple[str, str]:
    """Return the text that replaces a node, and the code of the loss ("" if there is none)."""
    match node:
        case grammar.Text(text):
            return text, ""
        case grammar.Slot(end):
            if LOCAL.fullmatch(node.case) and language in WITHOUT_PREPOSITIONS:
                return f"[{end}]", "local_cases"
            return f"[{end}]", "copulas" if node.copula else "cases" if node.case else ""
        case grammar.Article():
            name = ".".join(filter(None, (node.name, node.case)))
            form = ABOUT["bare"].get(language, {}).get(name)
            if form is None:
                return UNREDUCED, ""
            return form, "prepositions" if form and not node.case else "articles"
        case grammar.Alternatives(options):
            features = {condition.feature for option in options for condition in option.conditions}
            if "Human" in features:
                return UNREDUCED, ""
            return options[0].form, "genders" if "Gender" in features else "numbers"

"""A configuration of a dataset as tasks: of lm-eval (one file a language), of lighteval (one)."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain
from pathlib import Path
from pprint import pformat
from typing import NamedTuple

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import yaml
from jinja2 import Environment

from polyprobe import __version__
from polyprobe.eval.donors import deal_donors
from polyprobe.eval.questions import DONOR, DONOR_PROMPT, annotate
from polyprobe.publish.hub import check_repository_name
from polyprobe.schema.columns import SLOT, fingerprint, has_prompts
from polyprobe.schema.load import PARTS, load_facts
from polyprobe.system.files import hash_files, hash_json, read_toml
from polyprobe.system.messages import PolyprobeError

LM_EVAL, LIGHTEVAL = "lm-eval 0.4.13", "lighteval 0.13.0"
FORMS = read_toml(__package__, "lm_eval.toml")
# Columns of the rows about other subjects, as far as a dataset has them.
OF_DONORS = (DONOR, "donor_answers", "fact_id", "relation", "template_id", "prompt", "candidates",
             "candidate_ids", "answers")  # fmt: skip
# Suffix of a folder with data. The stem of the tasks has no dot: lighteval opens a task whose name
# is also a path as a list of tasks.
DATA = ".data"
to_yaml = partial(yaml.safe_dump, sort_keys=False, allow_unicode=True, width=10**6)


class Configuration(NamedTuple):
    """A checked configuration of a dataset, and the protocol of its tasks."""

    dataset: str  # its name in the names of the tasks
    name: str
    dataset_id: str | None  # OWNER/NAME on the Hub, None for local files
    files: Mapping[str, Sequence[str]]  # absolute paths by language, in the order of the tasks
    fingerprint: str  # 12 hex digits that depend on the languages and the contents of the files
    tables: Mapping[str, pa.Table]  # the rows by language
    scoring: str
    donor: bool = False  # whether each fact is asked about another subject

    @property
    def title(self) -> str:
        """DATASET/NAME."""
        return f"{self.dataset}/{self.name}"

    @property
    def stem(self) -> str:
        """The common start of the names of all tasks."""
        protocol = [self.scoring] if self.scoring != "bmlama" else []
        parts = ("polyprobe", self.dataset, self.name, *protocol, *(["donor"] * self.donor))
        return "_".join(re.sub(r"[^A-Za-z0-9_-]", "-", part) for part in parts)

    @property
    def prefixes(self) -> dict[str, list[str]]:
        """The text before the slot in each row, by language."""
        rows = {language: table["prompt"].to_pylist() for language, table in self.tables.items()}
        return {x: [prompt.partition(SLOT)[0] for prompt in prompts] for x, prompts in rows.items()}

    def ask_donors(self, output: Path) -> "Configuration | None":
        """Return the rows with each fact's second question, as files in `output`; None without."""
        # The donors are those of `polyprobe eval` with the same first language, the same in all.
        dealt = deal_donors(next(iter(self.tables.values())))
        if not any(dealt.answers):
            return None
        tables = annotate(self.tables, dealt)
        for language, table in tables.items():
            rows = table.filter(pc.is_valid(table[DONOR]))
            rows = rows.drop_columns("prompt").rename_columns({DONOR_PROMPT: "prompt"})
            tables[language] = rows.select([x for x in OF_DONORS if x in rows.column_names])
        prints = hash_json({x: fingerprint(table, (DONOR,)) for x, table in tables.items()})
        donors = self._replace(donor=True, dataset_id=None, fingerprint=prints[:12], tables=tables)
        folder = output.absolute() / f"{donors.stem}{DATA}"
        return donors._replace(files={x: [str(folder / f"{x}.parquet")] for x in tables})

    def fill(self, file: str, **values: object) -> str:
        """Fill in a Jinja template of this folder, which states the protocol."""
        text = files(__package__).joinpath(file).read_text("utf-8")
        names = ("title", "fingerprint", "scoring", "stem", "donor")
        values |= {x: getattr(self, x) for x in names}
        # Jinja drops a final line feed; files keep it.
        template = Environment(keep_trailing_newline=True).from_string(text)
        return template.render(**values, version=__version__)


def read_configuration(
    folder: Path,
    config: str | None,
    languages: Sequence[str] | None,
    dataset_id: str | None,
    scoring: str,
) -> Configuration:
    """Read a configuration; the arguments are those of `export_dataset`."""
    hub_name = None if dataset_id is None else check_repository_name(dataset_id).partition("/")[2]
    if not folder.is_dir():
        raise PolyprobeError(f"no such folder: {folder}; give the folder of a dataset")
    place = folder.resolve()
    tables = load_facts(str(place), config, languages)
    for language, table in tables.items():
        if has_prompts(table):
            raise PolyprobeError(
                f"{folder}: language '{language}' has rows with a prompt for each candidate "
                "(column 'prompts'), which tasks of harnesses cannot ask; use `polyprobe eval`"
            )
    # as `load_dataset` finds them
    settings = datasets.load_dataset_builder(str(place), config).config
    names = {str(split): [*map(str, paths)] for split, paths in settings.data_files.items()}
    if set(names) <= PARTS:
        raise PolyprobeError(
            f"{place} has the splits {', '.join(names)}, not one split for each language; "
            "name the languages' files in the card's configs"
        )
    for file in chain.from_iterable(names.values()):
        if not file.endswith(".parquet"):
            raise PolyprobeError(f"{place}: {file} is not a Parquet file; use Parquet only")
    files = {language: names[language] for language in tables}
    pairs = ((language, Path(path)) for language, paths in files.items() for path in paths)
    dataset, prints = hub_name or place.name, hash_files(pairs)[:12]
    return Configuration(dataset, settings.name, dataset_id, files, prints, tables, scoring)


def render_lm_eval(part: Configuration, donors: Configuration | None = None) -> dict[str, str]:
    """Write the groups, their shared parts and tasks: {file name: text}."""
    prefixes = part.prefixes.items() if part.scoring == "object" else ()
    for language, of_language in prefixes:
        for row, prefix in enumerate(of_language):
            if prefix.isdigit():
                raise PolyprobeError(
                    f"language '{language}', row {row}: lm-eval reads {prefix!r} alone before the "
                    "slot as a number; leave the language out or use --scoring bmlama"
                )
    stem = part.stem
    tasks = {language: f"{stem}_{language}" for language in part.files}
    hub = {"dataset_path": part.dataset_id, "dataset_name": part.name}
    shared = {
        **(hub if part.dataset_id else {"dataset_path": "parquet"}),
        **FORMS["bmlama"],
        **FORMS[part.scoring],
        "metadata": {"version": 1.0, "fingerprint": part.fingerprint},
    }
    # the group's file: protocol and differences as a comment, and the tasks
    head = part.fill("lm_eval_head.txt", harness=LM_EVAL, donors=donors)
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head.splitlines())
    group = {"group": stem, "task": [*tasks.values()], **FORMS["group"]}
    texts = {f"{stem}.yaml": comment + to_yaml(group), f"_{stem}_yaml": to_yaml(shared)}
    for language, task in tasks.items():
        content = {"include": f"_{stem}_yaml", "task": task, "test_split": language}
        paths = {"data_files": {language: list(part.files[language])}}
        local = {} if part.dataset_id else {"dataset_kwargs": paths}
        texts[f"{task}.yaml"] = to_yaml({**content, **local})
    return texts | (render_lm_eval(donors) if donors else {})


def render_lighteval(configuration: Configuration, donors: Configuration | None) -> dict[str, str]:
    """Write the Python file for `--custom-tasks` and cards for local data: {file name: text}."""
    stem = configuration.stem
    # Without a BOS a prompt that begins with the slot gives its choices no context.
    counts = {x: sum(not y.strip() for y in ys) for x, ys in configuration.prefixes.items()}
    code = configuration.fill(
        "lighteval_tasks.txt",
        harness=LIGHTEVAL,
        task=f"{stem}:{next(iter(configuration.files))}",
        languages=configuration.files,
        listed=pformat(list(configuration.files), width=90, compact=True),
        unprefixed={language: count for language, count in counts.items() if count},
        repository=express_place(configuration),
        config=configuration.name,
        number=int(configuration.fingerprint[:7], 16),
        donors=donors,
        donor_repository=donors and express_place(donors),
        donor_number=donors and int(donors.fingerprint[:7], 16),
        slot=SLOT,
    )
    local = [part for part in (configuration, donors) if part and not part.dataset_id]
    cards = {f"{part.stem}{DATA}/README.md": render_data_card(part) for part in local}
    return {f"{stem}.py": code, **cards}


def express_place(part: Configuration) -> str:
    """Return the expression of the tasks' dataset: a name on the Hub, else a folder beside."""
    local = f'str(Path(__file__).resolve().parent / "{part.stem}{DATA}")'
    return json.dumps(part.dataset_id) if part.dataset_id else local


def render_data_card(configuration: Configuration) -> str:
    """Write a card that names the files."""
    # `datasets` 5.2 caches a folder by the configurations in its card only. With the fingerprint
    # in the card it reads changed files again.
    config = {
        "config_name": configuration.name,
        "description": f"Parquet files {configuration.fingerprint}",
        "data_files": [{"split": x, "path": list(y)} for x, y in configuration.files.items()],
    }
    head = to_yaml({"configs": [config]})
    return f"---\n{head}---\n\nThe tasks load {configuration.title} by this card.\n"

"""What `polyprobe build` is asked for: options, each declared once, and their checks."""

import re
import shlex
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from polyprobe.builder.objects.lemmatizers import LEMMATIZERS
from polyprobe.builder.sources import FACT_SOURCES
from polyprobe.builder.translators import TRANSLATORS
from polyprobe.schema.languages import parse_languages, split_list
from polyprobe.schema.locate import SENTENCE
from polyprobe.system.messages import PolyprobeError, check_option
from polyprobe.system.options import Options, option, spell_options
from polyprobe.system.text import hide_secrets

from . import OWN

AGREEMENTS = ("template", "relation")

Names = tuple[str, ...]
_names, _codes = (partial(option, (), parse=parse) for parse in (split_list, parse_languages))
_sentence = partial(option, panel="Sentences of the source")
_template = partial(option, panel="Translated templates")


def check_config(name: str) -> None:
    """Refuse a name that is no file name, and the one that `datasets` reserves."""
    if not re.fullmatch(r"(\w[\w.-]{0,79})?", name):
        text = f"--config {name[:99]!r}: expected at most 80 letters, digits, '.', '-', '_'"
        raise PolyprobeError(text)
    if name == "default":
        text = "--config default: datasets takes that name for the one to load; choose another"
        raise PolyprobeError(text)


@dataclass(frozen=True)
class BalancedRequest(Options):
    """A balanced set: its sources, its languages, and the options of the draw."""

    source: str  # one, or several with commas, the preferred one first
    languages: Names = _codes("Comma-separated language codes.")
    candidates: int = option(10, "Number of candidates per query, including the answer.", minimum=2)
    templates: int = option(1, "Maximum templates per relation, each a row per fact.", minimum=1)
    max_per_relation: int | None = option(
        None, "Maximum facts per relation (default: all).", minimum=1
    )
    relations: Names = _names("Comma-separated relations (default: all).")
    exclude: Names = _names("Comma-separated relations to exclude.")
    labels: Names = _names(
        "Other sources, comma-separated, that give labels which --source lacks, in order."
    )
    wording: str | None = _sentence(
        None,
        "template or sentence, for two sets to compare: both have the same facts, once in "
        "templates, once in the source's sentences with inflected names (default: one set, with "
        "sentences where every language has them).",
        choices=("template", "sentence"),
    )
    unimorph: Path | None = _sentence(
        None,
        "Folder with UniMorph's tables of inflected words (a file for each language, such as rus); "
        "with them xfactr's names get their cases.",
    )
    template_translators: Names = _template(
        (),
        "Translator of missing templates: NAME, or 'NAME key=value …'. Repeat it: a translation is "
        "kept if two agree.",
        parse=tuple,
        flag="--template-translator",
    )
    trusted: Names = _template(
        (),
        "The text of a --template-translator whose translations a reader has checked: they are "
        "kept without a second one that agrees.",
        parse=tuple,
    )
    agree: str = _template(
        "template",
        "Two translators agree if they give a wording for the same template, or for any template "
        "of the relation (as mParaRel).",
        choices=AGREEMENTS,
    )
    draw: str = option(
        "frequency",
        "Draw objects as distractors by their frequency as answers, or uniform: each object alike, "
        "which lets frequent answers be guessed.",
        choices=("frequency", "uniform"),
    )
    seed: int = option(0, "Random seed of the sampling.")
    config: str = option(
        "",
        "Name of the configuration to write, for load_dataset and --config of eval (default: "
        "SOURCE-N for N languages).",
        check=check_config,
    )

    @property
    def sources(self) -> Names:
        """Return the names of the sources of facts."""
        return split_list(self.source)

    @property
    def name(self) -> str:
        """Return the name, by default `SOURCE-N`, or `SOURCE-N-Kt` with K templates."""
        several = f"-{self.templates}t" if self.templates != 1 else ""
        name = self.config or f"{'-'.join(self.sources)}-{len(self.languages)}{several}"
        suffix = SENTENCE if self.wording == "sentence" else ""
        return name.removesuffix(suffix) + suffix

    @property
    def command(self) -> str:
        """Return the command that rebuilds the set, independent of future defaults."""
        request = replace(self, config=self.name)
        words = spell_options(request, ("templates", "agree"), ("template_translators", "trusted"))
        # The command is published with the set: addresses of translators lose their secrets.
        words = [hide_secrets(word) for word in words]
        return shlex.join(["polyprobe", "build", "balanced", "--source", self.source, *words])

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.agree != AGREEMENTS[0] and not self.template_translators:
            text = f"--agree {self.agree} is for translated templates; add --template-translator"
            raise PolyprobeError(text)
        if self.wording and self.templates != 1:
            raise PolyprobeError(
                f"--templates {self.templates}: with --wording a fact has one row; omit "
                "--templates or --wording"
            )
        if strangers := sorted({*self.trusted} - {*self.template_translators}):
            text = f"--trusted {strangers[0]!r}: expected a text of --template-translator"
            raise PolyprobeError(text)
        if overlap := sorted({*self.relations} & {*self.exclude}):
            text = f"--relations and --exclude both name {', '.join(overlap)}; choose one"
            raise PolyprobeError(text)
        for name in self.labels:
            check_option("--labels", name, FACT_SOURCES)
        for name in sorted({*self.sources} & {*self.labels}):
            text = f"--labels {name}: its labels are those of --source already; name another"
            raise PolyprobeError(text)
        if self.wording and len(self.sources) > 1:
            raise PolyprobeError(
                f"--wording {self.wording}: sentences are of one --source; name one of "
                f"{', '.join(self.sources)}"
            )

    def check_names(self, plan: bool = False) -> None:
        """Refuse an unknown source, and a set without languages, which can only be planned."""
        for name in self.sources or (self.source,):
            check_option("--source", name, FACT_SOURCES)
        if not self.languages and not plan:
            text = "--languages is needed to build; --plan alone shows what they cost"
            raise PolyprobeError(text)


@dataclass(frozen=True)
class OwnRequest(Options):
    """A dataset of a user's own facts.

    `facts` is a CSV or TSV file, `templates` a TOML file (`recipes/own`). `languages` defaults to
    all languages of the facts. `candidates` and `seed` are those of a balanced set. `licence` is
    the id of the data's licence on the Hub; with `unknown`, the data can only be pushed in private.
    """

    facts: Path
    templates: Path
    languages: Names = _codes("Comma-separated language codes (default: all of the facts).")
    candidates: int = option(10, "Number of candidates per query, including the answer.", minimum=2)
    seed: int = option(0, "Random seed of the sampling.")
    licence: str = "unknown"

    @property
    def command(self) -> str:
        """Return the command that rebuilds the dataset, without the folders of the files."""
        files = [self.facts.name, "--templates", self.templates.name]
        words = [*files, *spell_options(self), "--licence", self.licence]
        return shlex.join(["polyprobe", "build", OWN, *words])


def check_folder_of_models(folder: Path) -> None:
    """Refuse a folder that does not exist."""
    if not folder.is_dir():
        raise PolyprobeError(f"no folder {folder}; give --stanza one with Stanza's models")


@dataclass(frozen=True)
class SentenceRequest(Options):
    """A sentence version: its base configuration, its languages, and the search for objects."""

    dataset: str
    config: str = option("default", "Configuration with the templates; C gives C-sentence.")
    translator: str = option("googletrans", f"{', '.join(TRANSLATORS)}.")
    languages: Names = _codes("Comma-separated language codes (default: all).")
    lemmatizer: str = option(
        "auto",
        f"Lemmatizer that finds the object: {', '.join(LEMMATIZERS)} (auto: the best measured "
        "one, stanza only if its models are present).",
        choices=LEMMATIZERS,
    )
    threshold: float = option(
        75.0,
        "How alike words of the translation and a form of the label must be to be taken for the "
        "object, 0 to 100: 100 is equal, 75 allows about one other letter in four.",
        minimum=0,
        maximum=100,
    )
    source_language: str = option("en", "Language to translate from.")
    stanza_dir: Path | None = option(
        None, "Folder with the models of Stanza.", flag="--stanza", check=check_folder_of_models
    )

    @property
    def name(self) -> str:
        """Return the version's name."""
        return self.config + SENTENCE

    @property
    def command(self) -> str:
        """Return the command that rebuilds the version on any machine."""
        # Options of a translator may be secret or change between days (a key, a port).
        words = spell_options(replace(self, stanza_dir=None))
        return shlex.join(["polyprobe", "build", "sentences", self.dataset, *words])

    def check(self) -> None:
        """Refuse a configuration that is itself a sentence version."""
        if not self.config or self.config.endswith(SENTENCE):
            raise PolyprobeError(
                f"--config {self.config!r}: expected a configuration of templates, whose name does "
                f"not end in {SENTENCE}"
            )

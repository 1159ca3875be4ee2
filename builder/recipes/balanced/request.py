"""The request for a balanced set, and its checks."""

import re
import shlex
from collections.abc import Collection, Sequence
from typing import NamedTuple

from polyprobe.builder.sources import FACT_SOURCES
from polyprobe.schema.columns import SENTENCE
from polyprobe.system.errors import PolyprobeError, unknown

WORDINGS = ("template", "sentence")
PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")


class Request(NamedTuple):
    """A balanced set: its source, its languages, and how it is drawn.

    Without `languages` all of the source are meant, without `relations` all of them but those of
    `exclude`; `labels` names the sources that complete missing labels, in order; of a relation's
    `templates` so many at most give a row each; `config` is the configuration's name, where it is
    empty `SOURCE-N` for N languages, `SOURCE-N-Kt` with K templates.

    Without `wording` a fact is told in sentences of the source's own where all languages have one,
    else in templates. With it the set is one of twins, which have the same facts and candidates:
    all that have both. `template` tells them in templates, `sentence` in the sentences, and its
    name ends in `-sentence`; `unimorph` is a folder of UniMorph's tables, for sentences that are
    written out (X-FACTR's).

    `template_translators` are what `translated_templates.load_translators` takes: they translate
    English templates where a language has none, `trusted` ones without another's agreement.
    """

    source: str
    languages: tuple[str, ...] = ()
    candidates: int = 10
    max_per_relation: int | None = None
    relations: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    seed: int = 0
    config: str = ""
    templates: int = 1
    wording: str = ""
    unimorph: str = ""
    template_translators: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the configuration's name."""
        several = f"-{self.templates}t" if self.templates != 1 else ""
        name = self.config or f"{self.source}-{len(self.languages)}{several}"
        suffix = SENTENCE if self.wording == "sentence" else ""
        return name.removesuffix(suffix) + suffix

    @property
    def command(self) -> str:
        """Return the line that builds the set again, whatever the defaults will be then.

        It is published with the set: passwords in addresses are left out.
        """
        given = (
            ("--source", self.source),
            ("--languages", ",".join(self.languages)),
            ("--candidates", str(self.candidates)),
            ("--templates", str(self.templates) if self.templates != 1 else ""),
            ("--max-per-relation", str(self.max_per_relation or "")),
            ("--relations", ",".join(self.relations)),
            ("--exclude", ",".join(self.exclude)),
            ("--labels", ",".join(self.labels)),
            ("--wording", self.wording),
            ("--unimorph", self.unimorph),
            *(("--template-translator", PASSWORD.sub("", t)) for t in self.template_translators),
            *(("--trusted", PASSWORD.sub("", text)) for text in self.trusted),
            ("--seed", str(self.seed)),
            ("--config", self.name),
        )
        words = [word for option, value in given if value for word in (option, value)]
        return shlex.join(["polyprobe", "build", "balanced", *words])


def check_request(request: Request) -> None:
    """Raise PolyprobeError if options contradict each other or no number of that size can be."""
    if request.candidates < 2:
        raise PolyprobeError(
            f"--candidates {request.candidates}: a query needs the answer and a distractor, 2 or "
            "more"
        )
    if request.templates < 1:
        raise PolyprobeError(f"--templates {request.templates}: expected 1 or more")
    if request.wording and request.wording not in WORDINGS:
        raise unknown("wording", request.wording, "--wording", WORDINGS)
    if request.wording and request.templates != 1:
        raise PolyprobeError(
            f"--templates {request.templates}: a sentence is one row a fact, and so is its "
            "template twin; leave --templates or --wording out"
        )
    if unknown_trusted := sorted({*request.trusted} - {*request.template_translators}):
        raise PolyprobeError(
            f"--trusted {unknown_trusted[0]!r}: expected a text of --template-translator"
        )
    if request.max_per_relation is not None and request.max_per_relation < 1:
        raise PolyprobeError(f"--max-per-relation {request.max_per_relation}: expected 1 or more")
    if both := sorted({*request.relations} & {*request.exclude}):
        raise PolyprobeError(f"--relations and --exclude both name {', '.join(both)}; choose one")
    for name in request.labels:
        if name not in FACT_SOURCES:
            raise unknown("source", name, "--labels", FACT_SOURCES)
    if request.source in request.labels:
        raise PolyprobeError(
            f"--labels {request.source}: its labels are those of --source already; name another"
        )
    if not re.fullmatch(r"(\w[\w.-]{0,79})?", request.config):
        raise PolyprobeError(
            f"--config {request.config[:99]!r}: expected at most 80 letters, digits, '.', '-', '_'"
        )
    if request.config == "default":
        raise PolyprobeError(
            "--config default: datasets takes that name for the one to load; choose another"
        )


def check_buildable(request: Request) -> None:
    """Raise PolyprobeError if the request does not say what to build."""
    check_request(request)
    if not request.languages:
        raise PolyprobeError("--languages is needed to build; --plan alone shows what they cost")


def check_languages(languages: Sequence[str], source: str, known: Collection[str]) -> None:
    """Raise PolyprobeError for a language that the source does not have."""
    for language in languages:
        if language not in known:
            raise unknown("language", language, source, known)


def check_relations(request: Request, known: Collection[str]) -> None:
    """Raise PolyprobeError for a relation that the source does not have, or where none is left."""
    for relation in (*request.relations, *request.exclude):
        if relation not in known:
            raise unknown("relation", relation, request.source, known)
    if not set(request.relations or known) - set(request.exclude):
        raise PolyprobeError(f"--exclude leaves no relation of {request.source}; name fewer")

"""The request for a balanced set, and its checks."""

import re
import shlex
from typing import NamedTuple

from polyprobe.builder.sources import FACT_SOURCES
from polyprobe.schema.columns import SENTENCE
from polyprobe.system.errors import PolyprobeError, check_option

from . import AGREEMENTS, DRAWS, WORDINGS

PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")


class BalancedRequest(NamedTuple):
    """A balanced set: its source, its languages, and the options of the draw.

    `languages` defaults to all languages of the source, `relations` to all relations except
    `exclude`. `labels` names the sources that complete missing labels, in order. A fact has one row
    for each template of its relation, up to `templates`. `config` is the name of the configuration;
    default: `SOURCE-N` for N languages, `SOURCE-N-Kt` with K templates.

    Without `wording`, a fact is asked in the source's own sentences if all languages have one,
    otherwise in templates. With `wording`, the set is limited to facts that have both, so that its
    template and sentence versions have the same facts and candidates. `template` selects the
    templates, `sentence` the sentences; the name then ends in `-sentence`. `unimorph` is a folder
    with UniMorph's tables, for rendered sentences (X-FACTR's).

    With `draw` `frequency`, an object is drawn as a distractor in proportion to the number of facts
    that it answers, with `uniform` as often as any other object. The latter gives away answers: the
    most frequent candidate of a row is often the correct one.

    `template_translators` are the arguments of `translators.templates.load_translators`. They
    translate English templates for languages without one. Translations by `trusted` ones need no
    agreement. The others agree by `agree`, see `fill_missing` there.
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
    draw: str = "frequency"
    agree: str = "template"

    @property
    def name(self) -> str:
        """Return the configuration's name."""
        several = f"-{self.templates}t" if self.templates != 1 else ""
        name = self.config or f"{self.source}-{len(self.languages)}{several}"
        suffix = SENTENCE if self.wording == "sentence" else ""
        return name.removesuffix(suffix) + suffix

    @property
    def command(self) -> str:
        """Return the command that rebuilds the set, independent of future defaults.

        It is published with the set, so passwords in addresses are removed.
        """
        options = (
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
            ("--agree", self.agree if self.agree != "template" else ""),
            ("--draw", self.draw),
            ("--seed", str(self.seed)),
            ("--config", self.name),
        )
        words = [word for option, value in options if value for word in (option, value)]
        return shlex.join(["polyprobe", "build", "balanced", *words])


def check_build(request: BalancedRequest) -> None:
    """Raise PolyprobeError as `check_request`, and without languages."""
    check_request(request)
    if not request.languages:
        raise PolyprobeError("--languages is needed to build; --plan alone shows what they cost")


def check_request(request: BalancedRequest) -> None:
    """Raise PolyprobeError for contradictory options or numbers out of range."""
    if request.candidates < 2:
        raise PolyprobeError(
            f"--candidates {request.candidates}: a query needs the answer and a distractor, 2 or "
            "more"
        )
    if request.templates < 1:
        raise PolyprobeError(f"--templates {request.templates}: expected 1 or more")
    if request.wording:
        check_option("--wording", request.wording, WORDINGS)
    check_option("--draw", request.draw, DRAWS)
    check_option("--agree", request.agree, AGREEMENTS)
    if request.agree != AGREEMENTS[0] and not request.template_translators:
        raise PolyprobeError(
            f"--agree {request.agree} is for translated templates; add --template-translator"
        )
    if request.wording and request.templates != 1:
        raise PolyprobeError(
            f"--templates {request.templates}: with --wording a fact has one row; omit --templates "
            "or --wording"
        )
    if unknown_trusted := sorted({*request.trusted} - {*request.template_translators}):
        raise PolyprobeError(
            f"--trusted {unknown_trusted[0]!r}: expected a text of --template-translator"
        )
    if request.max_per_relation is not None and request.max_per_relation < 1:
        raise PolyprobeError(f"--max-per-relation {request.max_per_relation}: expected 1 or more")
    if overlap := sorted({*request.relations} & {*request.exclude}):
        raise PolyprobeError(
            f"--relations and --exclude both name {', '.join(overlap)}; choose one"
        )
    for name in request.labels:
        check_option("--labels", name, FACT_SOURCES)
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

"""Build a dataset from a user's own facts and templates: a balanced set of these facts."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from polyprobe.builder.facts import TEMPLATES
from polyprobe.builder.facts.files import TemplateTables, check_licence, read_template_tables
from polyprobe.builder.recipes import OWN
from polyprobe.builder.recipes.balanced.build import Balanced, balance, describe, dump
from polyprobe.builder.recipes.balanced.material import Provenance, assemble
from polyprobe.builder.recipes.requests import BalancedRequest, OwnRequest
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.files import hash_files
from polyprobe.system.messages import PolyprobeError, report

from .read import read_own_facts

__all__ = ["DEFAULT_CONFIG", "describe", "dump", "make"]

DEFAULT_CONFIG = "default"


def make(request: OwnRequest) -> Balanced:
    """Return the balanced set of the facts that have labels and a template in all languages."""
    check_licence("--licence", request.licence)
    templates = read_template_tables(request.templates)
    content, languages = read_own_facts(request.facts, templates)
    request = replace(request, languages=check_languages(request, languages, templates))
    balanced_request = BalancedRequest(
        OWN, request.languages, request.candidates, seed=request.seed
    )
    material = assemble(balanced_request, content, pl.DataFrame(schema=TEMPLATES), languages)
    roles = {"facts": request.facts, "sentences": request.templates}
    sources = tuple(
        Provenance(path.name, role, "", hash_files([("", path)]), request.licence)
        for role, path in roles.items()
    )
    try:
        rows, notes = balance(balanced_request, material._replace(sources=sources))
    except PolyprobeError as error:
        raise PolyprobeError(f"{request.facts}: {error}") from error
    largest: dict[str, int] = {}
    for row in rows[request.languages[0]]:
        largest[row.relation] = max(largest.get(row.relation, 0), len(row.candidates))
    minimum = request.candidates
    small = [f"{relation} {size}" for relation, size in largest.items() if size < minimum]
    if small:
        report(f"fewer than {minimum} candidates, for lack of objects: at most {', '.join(small)}")
    card = {"license": request.licence, "relations": templates.names}
    return Balanced(rows, notes._replace(config=DEFAULT_CONFIG, command=request.command, card=card))


def check_languages(
    request: OwnRequest, available: Sequence[str], templates: TemplateTables
) -> tuple[str, ...]:
    """Return the requested languages, by default all; refuse fewer than two, or any mute one."""
    refuse_languages(request.languages, str(request.facts), available)
    languages = request.languages or tuple(available)
    if len(languages) < 2:
        raise PolyprobeError(
            f"{request.facts}: one language, {languages[0]}; consistency needs two or more: add "
            "the columns subject_LANG and object_LANG of another language"
            + (", or name more --languages" if len(available) > 1 else "")
        )
    worded = {language for of_relation in templates.texts.values() for language in of_relation}
    for language in languages:
        if language not in worded:
            base = language.partition("-")[0]
            alike = [x for x in sorted(worded) if x.split("-")[0] == base and x not in languages]
            hint = f"; did you mean '{alike[0]}'? name both alike" if alike else ""
            raise PolyprobeError(
                f"{request.templates} has no template in '{language}'{hint}; add one to each "
                "relation, or leave the language out with --languages"
            )
    return languages

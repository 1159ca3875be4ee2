"""Votes on translated templates: a version is kept if two translators agree or one is trusted.

The comparison of wordings ignores case, spaces, invisible characters and final punctuation.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from polyprobe.builder.facts.labels import fold

AGREED, TRUSTED = "agreed", "trusted"
ALONE, LOST, FAILED, UNOFFERED = "alone", "slots lost", "no translation", "pair not offered"
FINAL = ".。．｡!！?？…।॥۔؟։။។·:;,،、 "


class Version(NamedTuple):
    """One translator's version of a template.

    `template` has both slots; '' if a slot is lost or there is no translation. `text` is the output
    of the engine for slots in `style`.
    """

    template: str
    style: str
    text: str
    problem: str


class KeptTemplate(NamedTuple):
    """A kept translation: its text, the ids of its originals, and its translators."""

    template: str
    sources: tuple[str, ...]
    translators: tuple[str, ...]


def group_versions(versions: Mapping[str, Version]) -> dict[str, list[str]]:
    """Return {folded wording: names of its translators}."""
    groups: dict[str, list[str]] = {}
    for name, version in versions.items():
        if version.template:
            groups.setdefault(fold_template(version.template), []).append(name)
    return groups


def fold_template(template: str) -> str:
    """Return the key for the comparison of templates.

    >>> fold_template("[X]  naceu en [Y] .") == fold_template("[X] Naceu en [Y]")
    True
    """
    return fold(template).rstrip(FINAL)


def classify(
    name: str,
    version: Version,
    groups: Mapping[str, Sequence[str]],
    trusted: Collection[str],
    refused: bool,
) -> str:
    """Return the outcome of one translator's version of a template."""
    if not version.template:
        return UNOFFERED if refused else FAILED if version.problem else LOST
    if len(groups[fold_template(version.template)]) > 1:
        return AGREED
    return TRUSTED if name in trusted else ALONE


def merge(
    kept: dict[str, KeptTemplate],
    versions: Mapping[str, Version],
    groups: Mapping[str, Sequence[str]],
    template_id: str,
    trusted: Collection[str],
) -> None:
    """Add the wordings of two translators or of a trusted one to `kept`; merge equal ones."""
    for folded, names in groups.items():
        vouching = [name for name in names if name in trusted]
        if len(names) < 2 and not vouching:
            continue
        text = versions[(vouching or names)[0]].template
        before = kept.get(folded, KeptTemplate(text, (), ()))
        givers = dict.fromkeys((*before.translators, *names))
        kept[folded] = KeptTemplate(before.template, (*before.sources, template_id), tuple(givers))

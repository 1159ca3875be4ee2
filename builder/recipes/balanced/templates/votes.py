"""What translators made of a template, and which of it is kept: where two agree, or one is trusted.

Wordings are compared without case, blanks, invisible characters and the punctuation at the end.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from polyprobe.builder.facts.labels import fold

AGREED, TRUSTED = "agreed", "trusted"
ALONE, LOST, FAILED, UNOFFERED = "alone", "slots lost", "no translation", "pair not offered"
FINAL = ".。．｡!！?？…।॥۔؟։။។·:;,،、 "


class Version(NamedTuple):
    """What one translator made of one template.

    `template` has both slots, or is '' where they are lost or nothing came; `text` is what the
    engine gave, for slots written in `style`.
    """

    template: str
    style: str
    text: str
    problem: str


class KeptTemplate(NamedTuple):
    """A template that translators gave: its text, what it translates, who gave it."""

    template: str
    sources: tuple[str, ...]
    translators: tuple[str, ...]


def group_versions(versions: Mapping[str, Version]) -> dict[str, list[str]]:
    """Return {wording: who gave it}, case, blanks and the punctuation at the end aside."""
    groups: dict[str, list[str]] = {}
    for name, version in versions.items():
        if version.template:
            groups.setdefault(fold_template(version.template), []).append(name)
    return groups


def fold_template(template: str) -> str:
    """Return what two templates are compared by.

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
    """Return what becomes of a translator's version of a template."""
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
    """Add the wordings that two gave, or a trusted one, to a relation's; equal ones become one."""
    for folded, names in groups.items():
        vouching = [name for name in names if name in trusted]
        if len(names) < 2 and not vouching:
            continue
        text = versions[(vouching or names)[0]].template
        before = kept.get(folded, KeptTemplate(text, (), ()))
        givers = dict.fromkeys((*before.translators, *names))
        kept[folded] = KeptTemplate(before.template, (*before.sources, template_id), tuple(givers))

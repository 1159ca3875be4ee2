"""Wordings of a configuration: runs on the same facts in other sentences."""

from typing import NamedTuple

from polyprobe.schema.run.folder import Run

# Wordings and the ends of their configurations' names; a reference is in front of the others.
WORDINGS = {"template": "", "sentence": "-sentence", "chatgpt": "-chatgpt"}
WIDE = "-wide"  # behind these ends: aliases are correct answers


class Versions(NamedTuple):
    """Two runs on the same facts in two wordings; `sides` are these in the order of the runs."""

    reference: Run
    variant: Run
    sides: tuple[str, str] = ("sentence", "template")

    @property
    def wordings(self) -> tuple[str, str]:
        """Name the wording of the reference and that of the variant."""
        first, second = sorted(self.sides, key=[*WORDINGS].index)
        return first, second

    @property
    def runs(self) -> tuple[Run, Run]:
        """List both runs, the reference first."""
        return self.reference, self.variant


def find_versions(first: Run, second: Run) -> Versions | None:
    """Tell reference and variant apart; None unless configurations differ in wording alone."""
    (base, side), (second_base, second_side) = split_wording(first), split_wording(second)
    if base != second_base or side == second_side:
        return None
    order = [*WORDINGS]
    pair = (first, second) if order.index(side) < order.index(second_side) else (second, first)
    return Versions(*pair, (side, second_side))


def split_wording(run: Run) -> tuple[str, str]:
    """Split dataset and configuration of a run from the wording.

    `fluent-mlama/ru-chatgpt-wide` is the wording `chatgpt` of `fluent-mlama/ru-wide`.
    """
    name = run.settings().data_name
    base = name.removesuffix(WIDE)  # the wording stands before it
    for wording, suffix in WORDINGS.items():
        if suffix and base.endswith(suffix):
            return base.removesuffix(suffix) + name[len(base) :], wording
    return name, "template"

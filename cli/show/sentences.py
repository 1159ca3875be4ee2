"""`polyprobe build` for sentence-level twins: their options together, and what a build shows."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from polyprobe.system.errors import PolyprobeError

from .costs import draw_table

if TYPE_CHECKING:  # polars is an extra
    from polyprobe.builder.output.sentence_part import Notes

DEFAULTS = {
    "translator": "googletrans",
    "lemmatizer": "auto",
    "threshold": 75.0,
    "source_language": "en",
}
LOST = ("language", "lost for", "rows")


class SentenceOptions(NamedTuple):
    """The options of a twin as they were given; None where they were not."""

    translator: str | None
    translator_option: Sequence[str] | None
    lemmatizer: str | None
    stanza: Path | None
    threshold: float | None
    source_language: str | None

    @property
    def given(self) -> dict[str, object]:
        """Return {option: value} of those that were given."""
        return {name: value for name, value in self._asdict().items() if value not in (None, [])}


def find_twin(name: str, configs: Sequence[str], options: SentenceOptions) -> str | None:
    """Return the twin that is asked for, None where none is; configurations and options agree.

    Raises:
        PolyprobeError: options of a twin without one, a twin and another configuration.
    """
    from polyprobe.builder.recipes.table import is_twin

    twins = [config for config in configs if is_twin(name, config)]
    if not twins:
        if options.given:
            option = next(iter(options.given)).replace("_", "-")
            raise PolyprobeError(
                f"--{option} is an option of a sentence-level twin; name it, as --config "
                f"{configs[0] if configs else 'default'}-sentence"
            )
        return None
    if len(configs) > 1:
        raise PolyprobeError(f"build {twins[0]} by itself; --config names {len(configs)}")
    return twins[0]


def build_twin(
    name: str,
    twin: str,
    languages: Sequence[str],
    options: SentenceOptions,
    mirror: Path | None,
    output: Path | None,
) -> None:
    """Build a twin, and show what its languages cost and what rows were lost to."""
    from polyprobe.system.extras import explain_missing_extras

    with explain_missing_extras():
        from polyprobe.builder.build import build_sentences
        from polyprobe.builder.translators import read_pairs
        from polyprobe.schema.columns import SENTENCE

        settings = {key: options.given.get(key, value) for key, value in DEFAULTS.items()}
        folder, notes = build_sentences(
            name,
            twin.removesuffix(SENTENCE),
            languages=languages,
            stanza_dir=options.stanza,
            translator_options=read_pairs(options.translator_option or (), "--translator-option"),
            mirror=mirror,
            output=output,
            **settings,  # type: ignore[arg-type]
        )
    show_notes(notes)
    Console(soft_wrap=True).print(
        f"{name}/{twin} lies in {folder}; what became of every row: "
        f"{folder / 'sentences' / twin}.parquet",
        markup=False,
        highlight=False,
    )


def show_notes(notes: "Notes") -> None:
    """Print what each language costs a twin, and what its rows were lost to."""
    from polyprobe.builder.output.sentence_part import HEAD

    console = Console()
    console.print(draw_table(HEAD, notes.costs))
    if notes.lost.height:
        console.print(draw_table(LOST, notes.lost))
    used = ", ".join(f"{lang}: {name}" for lang, name in notes.settings.lemmatizers.items())
    console.print(
        f"translator: {notes.settings.translator}; lemmatiser: {used}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )

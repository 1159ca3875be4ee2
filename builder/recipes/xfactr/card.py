"""The parts of the card that only xfactr has: counts by language, labels, lost facts."""

from collections.abc import Sequence

from polyprobe.builder.output.config import Config
from polyprobe.builder.output.tables import markdown_table

# Facts in each language in the paper's table 5.
PUBLISHED = {
    "bn": 9383, "ceb": 8160, "el": 13034, "en": 45684, "es": 37065, "fr": 40240, "he": 17050,
    "hu": 20438, "ilo": 4053, "ja": 25144, "ko": 16098, "mg": 4945, "mr": 7877, "nl": 38291,
    "pa": 5455, "ru": 26265, "sw": 6834, "tl": 7116, "tr": 16104, "vi": 13642, "war": 7342,
    "yo": 4609, "zh": 23142,
}  # fmt: skip
KINDS = ("alias", "list", "form", "mpararel")


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the tables of facts and of labels by language."""
    return {"facts": facts_table(configs), "marks": marks_table(configs)}


def facts_table(configs: Sequence[Config]) -> str:
    """Return a line for each language: facts, published facts, lost ones, sources of labels."""
    head = ("language", "facts", "table 5", "without a label (%)")
    reasons = list(configs[0].notes["lost"]) if configs else []
    rows = []
    for config in configs:
        size, notes = config.sizes.total(), config.notes
        numbers = (
            size,
            PUBLISHED[config.name],
            *(notes["lost"][reason] for reason in reasons),
            *(notes["kinds"].get(kind, 0) for kind in KINDS),
        )
        cells = [f"{number:,}" for number in numbers]
        cells.insert(2, f"{100 * (1 - size / notes['facts']):.1f}")
        rows.append((f"`{config.name}`", *cells))
    return markdown_table((*head, *reasons, *(f"`{kind}`" for kind in KINDS)), rows)


def marks_table(configs: Sequence[Config]) -> str:
    """Return a line for each annotated language and each mark that could not be applied."""
    rows = [
        (f"`{config.name}`", reason, f"{count:,}")
        for config in configs
        if config.notes["annotated"]
        for reason, count in config.notes["marks"].items()
    ]
    return markdown_table(("language", "mark", "sentences"), rows)

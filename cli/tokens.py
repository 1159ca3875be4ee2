"""`polyprobe tokens`: how many tokens a model's tokenizer makes of the names of a dataset."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from polyprobe.scoring.options import check_model, check_model_revision
from polyprobe.system.options import option

from .options import Outputs, check_dataset, checked, parse_splits, take_options

TEXTS = ("answers", "candidates")  # as in analysis.tokens, which imports pyarrow


@dataclass(frozen=True)
class TokenOptions(Outputs):
    """The texts whose tokens are counted."""

    config: str | None = option(None, "Configuration of the dataset (default: the dataset's own).")
    languages: str | None = option(None, "Comma-separated language codes (default: all).")
    texts: str = option(
        "answers",
        "answers (the first correct candidate of each fact) or candidates (all).",
        choices=TEXTS,
    )
    revision: str | None = option(None, "Branch, tag or commit of the model.")


@take_options(TokenOptions)
def tokens(
    model: Annotated[
        str,
        typer.Argument(
            callback=checked(check_model), help="Hub id, local folder, GGUF file, or geolm."
        ),
    ],
    dataset: Annotated[
        str,
        typer.Option(
            callback=checked(check_dataset), help="Folder, name, or OWNER/NAME on the Hub."
        ),
    ],
    **keywords: Any,
) -> None:
    """Count the tokens of answers or candidates by language, with the tokenizer alone."""
    options = TokenOptions(**keywords)
    splits, texts = parse_splits(options.languages), options.texts
    check_model_revision(model, options.revision)
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.schema.identity import fingerprint
    from polyprobe.schema.load import find_default, load_facts
    from polyprobe.system.extras import explain_missing_extras

    tables = load_facts(dataset, options.config, splits, own_candidates=True)
    with explain_missing_extras("counting tokens"):
        from polyprobe.analysis.tokens import count_tokens, find_tokenizer, load_tokenizer

        place = find_tokenizer(model, options.revision)
        counts = count_tokens(load_tokenizer(place), tables, texts)
    from polyprobe.report.findings.tokens import make_tokens_finding

    options.write(
        make_tokens_finding(counts, texts),
        lambda: {
            "model": model,
            "revision": place.exact_revision(),
            "dataset": dataset,
            "config": options.config or find_default(dataset),
            "fingerprint": {name: fingerprint(table) for name, table in tables.items()},
            "texts": texts,
            "languages": {name: of_language.as_json() for name, of_language in counts.items()},
        },
    )

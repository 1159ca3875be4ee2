"""`polyprobe tokens`: how many tokens a model's tokenizer makes of the names of a dataset."""

from typing import Annotated

import typer

from polyprobe.scoring.options import check_model, check_revision

from .options import JsonFile, check_dataset, checked, one_of, parse_splits
from .outputs import Outputs

TEXTS = ("answers", "candidates")  # as in analysis.tokens, which imports pyarrow


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
    config: Annotated[
        str | None, typer.Option(help="Configuration of the dataset (default: the dataset's own).")
    ] = None,
    languages: Annotated[
        str | None, typer.Option(help="Comma-separated language codes (default: all).")
    ] = None,
    texts: Annotated[
        str,
        typer.Option(
            callback=one_of(TEXTS),
            help="answers (the first correct candidate of each fact) or candidates (all).",
        ),
    ] = "answers",
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of the model.")
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Count the tokens of answers or candidates by language, with the tokenizer alone."""
    splits = parse_splits(languages)
    check_revision(model, revision)
    from polyprobe.schema.identity import fingerprint
    from polyprobe.schema.load import find_default, load_facts
    from polyprobe.system.extras import explain_missing_extras

    tables = load_facts(dataset, config, splits, own_candidates=True)
    with explain_missing_extras("counting tokens"):
        from polyprobe.analysis.tokens import count_tokens, find_tokenizer, load_tokenizer

        place = find_tokenizer(model, revision)
        counts = count_tokens(load_tokenizer(place), tables, texts)
    from polyprobe.report.findings.tokens import make_tokens_finding

    Outputs(json_file).write(
        make_tokens_finding(counts, texts),
        lambda: {
            "model": model,
            "revision": place.exact_revision(),
            "dataset": dataset,
            "config": config or find_default(dataset),
            "fingerprint": {name: fingerprint(table) for name, table in tables.items()},
            "texts": texts,
            "languages": {name: of_language.as_json() for name, of_language in counts.items()},
        },
    )

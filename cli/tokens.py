"""`polyprobe tokens`: how many tokens a model's tokenizer makes of the names of a dataset."""

from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyprobe.scoring.options import check_model, check_revision

from .options import JsonFile, check_dataset, checked, one_of, parse_splits, write_json

if TYPE_CHECKING:
    from polyprobe.analysis.tokens import TokenCounts

TEXTS = ("answers", "candidates")  # as in analysis.tokens, which imports pyarrow
MOST = 5  # tokens of the last column with a share: that many or more
HEADS = ("texts", *map(str, range(1, MOST)), f"{MOST}+", "tokens", "/word", "/char", "unk.")
DIGITS = (*[1] * MOST, 2, 2, 2, 1)  # decimals of the values
NOTE = (
    "1 to {most}+: percent of {texts} with that number of tokens; tokens: mean number, also per "
    "word and per character; unk.: percent with an unknown token"
)


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
        found = count_tokens(load_tokenizer(place), tables, texts)
    Console().print(tokens_table(found))
    Console().print(NOTE.format(most=MOST, texts=texts), highlight=False)
    if json_file:
        made = {
            "model": model,
            "revision": place.exact_revision(),
            "dataset": dataset,
            "config": config or find_default(dataset),
            "fingerprint": {name: fingerprint(table) for name, table in tables.items()},
            "texts": texts,
            "languages": {name: counts.as_json() for name, counts in found.items()},
        }
        write_json(json_file, made)


def tokens_table(found: "dict[str, TokenCounts]") -> Table:
    """Return a row for each language, and the mean over languages."""
    table = Table(header_style="bold", highlight=False, box=None, pad_edge=False)
    table.add_column("language", no_wrap=True)
    for head in HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    rows = {name: list_values(counts) for name, counts in found.items()}
    means = [fmean(column) for column in zip(*rows.values(), strict=True)]
    for name, values in [*rows.items(), *([("mean", means)] if len(rows) > 1 else [])]:
        n_texts = f"{found[name].n_texts:,}" if name in found else ""
        cells = (f"{value:.{digits}f}" for value, digits in zip(values, DIGITS, strict=True))
        table.add_row(Text(name), n_texts, *cells)
    return table


def list_values(counts: "TokenCounts") -> list[float]:
    """Return the values of a row, in the order of HEADS, without the number of texts."""
    known = counts.as_json()
    shares = [counts.share(k, k) for k in range(1, MOST)] + [counts.share(MOST)]
    ratios = [known[name] for name in ("tokens", "tokens_per_word", "tokens_per_character")]
    return [*(100 * share for share in shares), *ratios, 100 * known["unknown"]]

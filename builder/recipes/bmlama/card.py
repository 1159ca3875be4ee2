"""The parts of the card that only BMLAMA has: repairs, audit, judged candidates."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from polyprobe.builder.output.config import Config
from polyprobe.builder.output.tables import codes_table, markdown_table
from polyprobe.builder.sources import curated as readers
from polyprobe.builder.sources.bmlama.files import BLOCKS, read_entry_templates
from polyprobe.builder.sources.bmlama.linked import REPAIRS
from polyprobe.system.files import read_toml

AUDIT, VERDICTS, SECOND = (
    Path(__file__).with_name(name) for name in ("audit.csv", "verdicts.csv", "second.csv")
)
TEXTS = read_toml(__package__, "card.toml")


def read_audit() -> pl.DataFrame:
    """Read what bench/bmlama_audit.py writes, a line for each language (AuditLine)."""
    return pl.read_csv(AUDIT, schema_overrides={"config": pl.String}, infer_schema_length=None)


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the parts of the card that only BMLAMA has."""
    audit = read_audit()
    counts = {config.name: config.repairs for config in configs if config.repairs}
    repairs = codes_table(("code", "change"), counts, REPAIRS)
    lines = audit.unique("config", keep="first", maintain_order=True).iter_rows(named=True)
    draws = [TEXTS["frequency"].format(**line) for line in lines]  # accuracy by frequent answers
    return {
        "repairs": repairs if counts else "No configuration here is repaired.",
        "audit": compare_audits(audit),
        "audit_languages": languages_table(audit),
        "verdicts": verdicts_table(),
        "draw": TEXTS["draw"].format(figures=", ".join(draws)),
        "barred": TEXTS["barred"].format(**Counter(pl.read_csv(readers.FOUND)["verdict"])),
        "second": second_answers(),
        "forms": forms_table(configs),
        "no_entries": ", ".join(x[0] for x in BLOCKS if x[0] not in read_entry_templates()),
    }


def compare_audits(audit: pl.DataFrame) -> str:
    """Return one line for each figure and one column for each configuration."""
    parts = audit.partition_by("config", maintain_order=True)
    head = ("", *(f"`{part['config'][0]}`" for part in parts))
    audited = TEXTS["audit"].items()
    lines = ((title, *(show_figure(part, *line) for part in parts)) for title, line in audited)
    return markdown_table(head, lines)


def show_figure(audit: pl.DataFrame, field: str, form: str, worst: str = "") -> str:
    """Return a figure of a configuration: the smallest, or the worst with its language."""
    row = audit.sort(field, descending=worst == "most", maintain_order=True).row(0, named=True)
    perfect = {"most": 0, "least": 1}.get(worst)
    text = f"{row[field]:{form}}"
    if perfect is None:
        return text
    return f"{perfect}" if row[field] == perfect else f"{text} ({row['language']})"


def languages_table(audit: pl.DataFrame) -> str:
    """Return one line for each language of `17` as published."""
    columns = TEXTS["languages"]
    rows = audit.filter(config="17").select(*columns).iter_rows()
    texts = ((*row[:4], *(f"{ceiling:.3f}" for ceiling in row[4:])) for row in rows)
    return markdown_table(list(columns.values()), texts)


def verdicts_table() -> str:
    """Return one line for each language: judged and wrong candidates, Wilson's 95% interval."""
    verdicts = pl.read_csv(VERDICTS)
    parts = {x: verdicts.filter(language=x) for x in verdicts["language"].unique().sort()}
    rows = []
    for name, part in {**parts, "all": verdicts}.items():
        wrong = int((part["verdict"] != "right").sum())
        rows.append((name, f"{len(part)}", f"{wrong}", format_wilson(wrong, len(part))))
    return markdown_table(("language", "judged", "wrong", "error rate, 95% interval"), rows)


def second_answers() -> str:
    """Return the number of rows read that have a correct or arguable distractor."""
    by_row = pl.read_csv(SECOND).group_by("published_row").agg("verdict")["verdict"].to_list()
    right = sum("right" in verdicts for verdicts in by_row)
    more = sum(set(verdicts) != {"none"} for verdicts in by_row) - right
    shares = {"right": right, "more": more}
    rates = {f"{name}_rate": format_wilson(n, len(by_row)) for name, n in shares.items()}
    return str(TEXTS["second"].format(total=len(by_row), **shares, **rates))


def forms_table(configs: Sequence[Config]) -> str:
    """Return one line for each language: shares of our sentences and of entries (`count_forms`)."""
    forms = {x.name: x.notes["forms"] for x in configs if "forms" in x.notes}
    head = [f"`{name}`, {title}" for name in forms for title in ("ours", "entries")]
    rows = []
    for language in sorted(set().union(*forms.values())):
        counts = [of.get(language, (0, 0, 0)) for of in forms.values()]
        shares = [(n and f"{k / n:.2f}") or "–" for n, *parts in counts for k in parts]
        rows.append((f"`{language}`", *shares))
    return markdown_table(("language", *head), rows)


def format_wilson(count: int, total: int) -> str:
    """Return a share with Wilson's 95% interval."""
    from scipy.stats import binomtest  # here: only this card needs SciPy, which takes 0.4 s

    interval = binomtest(count, total).proportion_ci(method="wilson")
    return f"{count / total:.1%}, {interval.low:.1%} to {interval.high:.1%}"

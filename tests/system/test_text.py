"""Text of others: what it may not do on a terminal, in a table for LaTeX, in CSV and Markdown."""

import csv
import io

import pytest
from markdown import markdown
from rich.table import Table as RichTable
from rich.text import Text

from polyprobe.cli.options import say
from polyprobe.report.finding import Column, Role, Table
from polyprobe.report.show import escape, to_csv, to_latex, to_markdown
from polyprobe.system.messages import PolyprobeError, list_first, report, track
from polyprobe.system.text import clean, clean_field

HOSTILE = {
    "terminal": "\x1b]0;pwned\x07\x1b[31m\x9b2J\x08",
    "lines": "a\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h",
    "directions": "a\u202eb\u2066c\u2069",
    "half a character": "a\ud800b",
    "markup": "[red]x[/red] [/] :kenya: P36:Kenya:1 [link=http://h]y[/link]",
    "LaTeX": "\\input{/etc/passwd} %$&#_{}~^ \\write18{id}",
    "Markdown": "|![x](http://h/p.png)|[y](javascript:z)|`c`|*d*|\\|e|<script>f</script>|",
    "formula": "=cmd|'/c calc'!A1",
}
SAFE = ("Côte d'Ivoire", "می‌روم", "שלום\u200f!", "北京", "क्‍ष", "𝒳", "👩‍🔬")
BAD = {*map(chr, (*range(32), *range(127, 160), 0x2028, 0x2029, *range(0x202A, 0x202F)))}
BAD |= {*map(chr, (*range(0x2066, 0x206A), 0xD800))}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_text_leaves_as_one_harmless_line(text, capsys):
    assert not BAD & {*clean(text)}
    assert not BAD & {*str(PolyprobeError(f"no {text!s}"))}
    table = RichTable("head", text)
    table.add_row(text, Text(text))
    say(text, table)
    report(text)
    assert [*track([1], text)] == [1]
    shown = capsys.readouterr()
    assert not (BAD - {"\n"}) & {*shown.out, *shown.err}
    assert shown.err == f"{clean(text)}\n"
    if "\n" not in text:
        assert shown.out.startswith(f"{clean(text)}\n")


@pytest.mark.parametrize("text", SAFE)
def test_words_of_all_scripts_stay(text):
    assert clean(text) == clean_field(text) == text


def test_a_field_of_a_signature_holds_no_other():
    assert clean_field("1|path:tree\n|dtype:x") == "1/path:tree /dtype:x"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_text_in_a_table_is_one_cell(text):
    table = Table([Column("name", Role.LABEL), Column("value")], [[text, -0.5], ["x", 1.0]])
    head, rule, row, other = to_markdown(table).splitlines()
    page = markdown("\n".join((head, rule, row, other)), extensions=["tables"])
    assert page.count("<td") == 4
    assert not [tag for tag in ("<img", "<a ", "<script", "<em", "<code") if tag in page]
    latex = to_latex([table], text)
    assert not [word for word in ("\\input{", "\\write18") if word in latex]
    table.rows[0][0] = "a\nb" if "\n" in text else "a"
    assert len(latex.splitlines()) == len(to_latex([table], "a").splitlines())
    assert "\n[" not in to_latex([Table([Column("name", Role.LABEL)], [["[1] x"]])])
    assert not (BAD - {"\n"}) & {*escape(text)}


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "\t=", "\r=", " ="])
def test_a_sheet_computes_no_text_and_reads_every_number(first):
    table = Table([Column("a", Role.TEXT), Column("b")], [[f"{first}1+1", -0.125], ["x", None]])
    _, row, other = csv.reader(io.StringIO(to_csv(table)))
    assert row == [f"'{clean(first)}1+1", "-0.125"]
    assert other == ["x", ""]


def test_many_names_are_listed_in_part():
    names = [f"m{k}" for k in range(5000)]
    assert list_first(names).endswith("m58, m59 and 4940 more")
    assert list_first(["a"]) == "a"

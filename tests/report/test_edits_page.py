"""The page of edits: lead, table, scatter plot, notes."""

from polyprobe.analysis.edits import OTHERS, summarize_edits
from polyprobe.report.findings.edits import make_edits_finding
from polyprobe.report.show import format_value
from tests.making.edits import make_edits


def test_the_finding_has_the_figures_of_the_summary():
    edits = make_edits()
    summary = summarize_edits(edits)
    figures, finding = summary["figures"], make_edits_finding(edits, summary)
    shares, effects, facts = finding.tables
    assert [row[0] for row in shares.rows] == ["en", "el", "ru", "zh", OTHERS]
    names = ["right_before", "target_before", "right_after", "target_after", "fall", "fall_ci",
             "flipped"]  # fmt: skip
    assert shares.rows[1] == ["el", 0.8, *(figures["el"][name] for name in names)]
    assert effects.rows[2][1:3] == [figures["ru"]["rank_before"], figures["ru"]["rank_after"]]
    assert len(facts.rows) == 12 * 4
    assert facts.rows[5] == ["Q0", "right", "Q1", "el", *summary["shares"]["el"][1]]
    fall, mean = (format_value(figures[x]["fall"]) for x in ("en", OTHERS))
    assert finding.lead == (
        f"Edits in en lower the share of the right answer by {fall} in en, and by {mean} in the "
        "mean of the 3 other languages."
    )
    assert finding.title == "12 edits of geolm in en on geofacts"
    assert finding.settings == ["method: rome, layer: 0, contexts: 0"]


def test_the_scatter_plot_has_the_languages_with_consistency():
    edits = make_edits()
    summary = summarize_edits(edits)
    picture = make_edits_finding(edits, summary).pictures["falls"]
    figures = summary["figures"]
    assert [(x.label, x.x, x.y, x.y_bounds) for x in picture.points] == [
        (x, level, figures[x]["fall"], figures[x]["fall_ci"])
        for x, level in (("el", 0.8), ("ru", 0.3))
    ]
    r = format_value(summary["correlation"]["pearson"])
    assert picture.title.startswith(f"fall and consistency: r {r}, 95% ")
    assert picture.title.endswith("24 points, one for each fact and language other than en")


def test_edits_without_a_run_have_no_correlation():
    edits = {**make_edits(languages=("en", "el")), "consistency": None}
    finding = make_edits_finding(edits, summarize_edits(edits))
    assert finding.notes[-1] == (
        "no correlation of fall and consistency: it needs languages that differ in both (--run)"
    )
    assert finding.pictures["falls"].points == []
    assert len(finding.tables[0].rows) == 2

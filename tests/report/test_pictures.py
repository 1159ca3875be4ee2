"""Pictures: the order of languages, what is drawn, and the files."""

import re
from itertools import combinations, pairwise, permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from polyprobe.metrics.pictures.charts import NAMED, Axis, measure_text
from polyprobe.metrics.pictures.picture import (
    Bars,
    Heat,
    Point,
    Points,
    Quartiles,
    Series,
    join_points,
)
from polyprobe.metrics.pictures.svg import (
    COLOURS,
    DIVERGING,
    FRAMES,
    RAMP,
    draw_svg,
    find_scale_ends,
)
from polyprobe.report.page.page import HERE as PAGE
from polyprobe.report.pictures.draw import save_picture
from polyprobe.report.pictures.order import arrange, name_labels, order_languages
from polyprobe.schema.languages import find_language, read_languages
from polyprobe.system.messages import PolyprobeError

SVG = "{http://www.w3.org/2000/svg}"
LANGUAGES = sorted(read_languages(), key=lambda code: code[::-1])  # no order of the table


def make_heat(languages, seed=0, **fields):
    values = np.random.default_rng(seed).uniform(0.1, 0.9, [len(languages)] * 2)
    values = (values + values.T) / 2
    np.fill_diagonal(values, np.nan)
    return Heat("a $b$ γλώσσα", languages, languages, values, "RankC", **fields)


BARS = Bars(
    "bars",
    ["ru", "en", "fr"],
    [Series("a", [0.5, None, 0.25], [[0.4, 0.6], None, [0.1, 0.2]]), Series("b", [0.1, 0.2, 0.3])],
    "accuracy",
    [("chance", 0.15)],
)
POINTS = Points(
    "points",
    [Point("en-fr", 1e6, 0.5, "x"), Point("ru", 4e6, 0.75, "y"), Point("a_run", 64e6, 0.5, "y")],
    "parameters",
    "RankC",
    (0.125, -2.0),
    log2=True,
)

BOXES = Bars(
    "boxes",
    ["en"],
    [
        Series("a", [3], boxes=[Quartiles(1, 2, 3, 4, 9, 5)]),
        Series("b", [1.5], boxes=[Quartiles(1, 1, 1.5, 2, 5, 2.5)]),
    ],
    "rank",
)


def cluster(distances, languages):
    """Return the clusters of average linkage, by the definition."""
    groups = [frozenset([i]) for i in range(len(languages))]
    found = []
    while len(groups) > 1:
        gaps = {
            pair: np.mean([distances[i, j] for i in pair[0] for j in pair[1]])
            for pair in combinations(groups, 2)
        }
        one, two = min(gaps, key=gaps.get)
        groups = [*(x for x in groups if x not in (one, two)), one | two]
        found.append(one | two)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_similarity_keeps_the_languages_of_a_cluster_together(seed):
    languages = LANGUAGES[:12]
    heat = make_heat(languages, seed)
    order = [languages.index(code) for code in arrange(heat, "similarity").rows]
    for group in cluster(np.nanmax(heat.values) - heat.values, languages):
        places = [order.index(i) for i in group]
        assert max(places) - min(places) + 1 == len(group)


def test_similar_languages_are_side_by_side():
    values = np.full([4, 4], np.nan)
    values[np.triu_indices(4, 1)] = [0.1, 0.9, 0.2, 0.0, 0.8, np.nan]
    order = [*map("abcd".__getitem__, order_languages("abcd", "similarity", values))]
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset("ac"), frozenset("bd")}
    assert order_languages("ab", "similarity", np.full([2, 2], 0.5)) == [0, 1]
    assert order_languages("abc", "similarity", np.full([3, 3], np.nan)) == [0, 1, 2]


@pytest.mark.parametrize("trait", ["family", "branch", "script"])
def test_languages_of_a_family_a_branch_or_a_script_are_side_by_side(trait):
    order = order_languages(LANGUAGES, "script" if trait == "script" else "family")
    assert sorted(order) == [*range(len(LANGUAGES))]
    ordered = [find_language(LANGUAGES[i]) for i in order]
    seen = [getattr(language, trait) for language in ordered]
    changes = sum(one != two for one, two in pairwise(seen))
    assert changes == len(set(seen)) - 1
    if trait != "family":  # whose branches come first
        for value in set(seen):
            names = [x.name for x in ordered if getattr(x, trait) == value]
            assert names == sorted(names)


def test_unknown_languages_are_last_as_given():
    codes = ["tlh", "ru", "qq", "zh_hant", "en"]
    assert [codes[i] for i in order_languages(codes, "script")] == [
        "ru", "zh_hant", "en", "tlh", "qq",
    ]  # fmt: skip


@pytest.mark.parametrize("order", ["similarity", "family", "script"])
def test_an_order_moves_cells_with_their_languages(order):
    heat = make_heat(LANGUAGES[:9], squares={"high": [(0, 1), (1, 0), (4, 7)]})
    moved = arrange(heat, order)
    assert sorted(moved.rows) == sorted(heat.rows)
    assert moved.rows == moved.columns

    def read(picture, cells):
        return {
            (picture.rows[i], picture.columns[j]): picture.values[i, j] for i, j in cells
        }  # fmt: skip

    every = [*permutations(range(9), 2)]
    assert read(moved, every) == read(heat, every)
    assert read(moved, moved.squares["high"]) == read(heat, heat.squares["high"])
    assert np.isnan(np.diagonal(moved.values)).all()


def test_both_directions_of_a_pair_count():
    random = np.random.default_rng(2)
    heat = make_heat(LANGUAGES[:9])._replace(values=random.uniform(0, 1, (9, 9)))
    both = heat._replace(values=(heat.values + heat.values.T) / 2)
    assert arrange(heat, "similarity").rows == arrange(both, "similarity").rows


def test_bars_and_rectangles_are_ordered_too():
    bars = arrange(BARS, "family")
    assert bars.labels == ["en", "fr", "ru"]
    assert bars.series[0].values == [None, 0.25, 0.5]
    assert bars.series[0].bounds == [None, [0.1, 0.2], [0.4, 0.6]]
    assert bars.series[1].values == [0.2, 0.3, 0.1]
    wide = Heat("t", ["ru", "en"], ["fr", "ru", "de"], np.arange(6.0).reshape(2, 3), "m")
    moved = arrange(wide, "family")
    assert (moved.rows, moved.columns) == (["en", "ru"], ["de", "fr", "ru"])
    assert moved.values.tolist() == [[5, 3, 4], [2, 0, 1]]


@pytest.mark.parametrize(
    ("picture", "order", "message"),
    [
        (POINTS, "family", "--order family: a scatter plot has no order of languages; omit"),
        (BARS, "similarity", "--order similarity requires a heat map of pairs of languages; "),
        (BARS._replace(labels=["1", "2", "3"]), "script", "1, 2, 3, … are not known languages"),
    ],
)
def test_orders_that_a_picture_does_not_have(picture, order, message):
    with pytest.raises(PolyprobeError, match=message):
        arrange(picture, order)


def test_names_stay_apart():
    assert name_labels(["zh_hans", "zh", "zh_x", "en-ru", "bert-de", "tlh", "3"]) == [
        "Chinese (simplified)", "Chinese (zh)", "Chinese (zh_x)", "English – Russian", "bert-de",
        "tlh", "3",
    ]  # fmt: skip


def test_the_colours_are_those_of_the_pages():
    light = (PAGE / "report.css").read_text("utf-8").partition("@media")[0]
    assert dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light)).items() >= COLOURS.items()
    script = (PAGE / "finding.js").read_text("utf-8")
    ramps = [re.findall("#[0-9a-f]{6}", x) for x in re.findall(r"= \[([^\]]*#[^\]]*)\]", script)]
    assert ramps == [RAMP, DIVERGING, [*FRAMES, "#e0218a"]]  # the last frames the chosen pair


def save(picture, file, **options):
    save_picture(picture, file, **options)
    return file.read_bytes()


PICTURES = {"heat": make_heat(["en", "ru", "zh_hans"]), "bars": BARS, "points": POINTS}


@pytest.mark.parametrize("kind", PICTURES)
@pytest.mark.parametrize(
    ("ending", "magic"), [(".png", b"\x89PNG\r\n"), (".svg", b"<?xml"), (".PDF", b"%PDF-1.")]
)
def test_a_picture_has_its_format_and_the_same_bytes_each_time(tmp_path, kind, ending, magic):
    if ending != ".svg":
        pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    first = save(PICTURES[kind], tmp_path / f"one{ending}", names=True)
    assert first.startswith(magic)
    assert save(PICTURES[kind], tmp_path / f"two{ending}", names=True) == first
    if ending == ".PDF":
        assert b"/FontFile" in first  # text stays text
        assert b"/Type3" not in first
    if ending == ".png":
        assert min(Image.open(tmp_path / "one.png").size) > 300


def read_texts(content):
    return [
        x.text for x in ElementTree.fromstring(content).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_the_text_of_an_svg_is_text(tmp_path):
    heat = make_heat(["en", "ru", "zh_hans"], mark=("chance", 0.3), low=0.05)
    texts = read_texts(save(heat, tmp_path / "p.svg", names=True))
    assert {"a $b$ γλώσσα", "RankC", "chance", "English", "Russian", "0.05"} <= set(texts)
    shown = [f"{x:.2f}" for x in heat.values[~np.isnan(heat.values)]]
    assert [text for text in texts if text in shown][: len(shown)] == shown  # by rows
    svg = save(heat._replace(title='<b>"&amp;'), tmp_path / "p.svg")
    assert {"zh_hans", '<b>"&amp;'} < {*read_texts(svg)}
    assert "var(" not in svg.decode()
    assert f'<rect width="100%" height="100%" fill="{COLOURS["back"]}"/>' in svg.decode()


def draw(picture, **options):
    """Parse the drawing of a picture; attributes of groups apply to their elements."""
    return ElementTree.fromstring(draw_svg(picture, **options))


def select(svg, name, group=None):
    places = [x for x in svg.iter(f"{SVG}g") if x.get("class") == group] if group else [svg]
    return [x for place in places for x in place.iter(SVG + name)]


def read_way(element):
    return [float(x) for x in re.findall(r"-?[\d.]+", element.get("d"))]


def test_cells_have_the_colours_of_the_ramp_and_frames():
    values = np.array([[np.nan, 0.2], [0.9, 0.55]])
    heat = Heat("t", "ab", "ab", values, "m", 0.2, 0.9, squares={"x": [(0, 1)], "y": [(1, 0)]})
    svg = draw(heat)
    fills = [cell.get("fill") for cell in select(svg, "path", "cells")]
    middle = [round(sum(int(x[k : k + 2], 16) for x in RAMP[4:6]) / 2) for k in (1, 3, 5)]
    assert [fills[0], fills[1], fills[2]] == ["var(--card)", RAMP[0], RAMP[-1]]
    shown = [int(fills[3][k : k + 2], 16) for k in (1, 3, 5)]
    assert np.abs(np.subtract(shown, middle)).max() <= 1
    cells = [read_way(x) for x in select(svg, "path", "cells")]
    frames = [(x.get("stroke"), read_way(x)) for x in select(svg, "path", "frames")]
    inside = [[x + 1, y + 1] for x, y, *_ in (cells[1], cells[2])]
    assert frames == [
        (colour, [*place, *frame[2:]])
        for colour, place, (_, frame) in zip(FRAMES, inside, frames, strict=True)
    ]
    assert {"x", "y"} <= {x.text for x in select(svg, "text")}


def test_a_scale_of_differences_has_zero_in_the_middle():
    heat = make_heat(["en", "ru"], diverging=True)
    size = np.nanmax(np.abs(heat.values - 0.7))
    ends = find_scale_ends(heat._replace(values=heat.values - 0.7))
    assert ends == pytest.approx((-size, size))


@pytest.mark.parametrize(
    "picture",
    [
        make_heat(["en", "ru"], squares={"at or above the mean by both figures": [(0, 1)]}),
        make_heat(["en", "ru"])._replace(measure="a figure with quite a long name, difference"),
        BARS._replace(series=[*BARS.series[1:], BARS.series[1]._replace(name="a name " * 12)]),
        POINTS._replace(points=[Point("ru", 1.0, 0.5, "x"), Point("en", 2.0, 0.5, "group " * 15)]),
        join_points("", [Series("a name " * 12, [0.5]), Series("b", [0.5])], "x", "y"),
        BOXES._replace(series=[BOXES.series[0]._replace(name="a name " * 12), BOXES.series[1]]),
    ],
    ids=["squares", "measure", "bars", "points", "curves", "boxes"],
)
def test_the_longest_line_of_a_legend_is_inside(picture):
    svg = draw(picture)
    texts = max(select(svg, "text"), key=lambda element: len(element.text or ""))
    assert measure_text(texts.text) + 18 < float(svg.get("width"))


def test_bars_are_drawn_from_zero_to_their_values():
    svg = draw(BARS, names={"en": "English"})
    groups = [x for x in svg.iter(f"{SVG}g") if x.get("class") == "bars"]
    widths = [[float(x.get("width")) for x in group.iter(f"{SVG}rect")] for group in groups]
    unit = widths[0][0] / 0.5
    assert widths[0] == pytest.approx([0.5 * unit, 0.25 * unit], abs=0.1)
    assert widths[1] == pytest.approx([0.1 * unit, 0.2 * unit, 0.3 * unit], abs=0.1)
    [whiskers] = [x for x in select(svg, "path") if x.get("class") == "whiskers"]
    zero = float(groups[0][0].get("x"))
    low, _, high, *_ = read_way(whiskers)
    assert [low - zero, high - zero] == pytest.approx([0.4 * unit, 0.6 * unit], abs=0.1)
    level = read_way([x for x in select(svg, "path") if x.get("stroke-dasharray")][-1])
    assert level[0] - zero == pytest.approx(0.15 * unit, abs=0.1)
    assert {"a", "b", "chance", "ru", "English", "fr"} <= {x.text for x in select(svg, "text")}
    spans = sorted((float(x.get("y")), float(x.get("height"))) for x in select(svg, "rect", "bars"))
    assert all(y + height <= below for (y, height), (below, _) in pairwise(spans))


def test_bars_below_zero_end_at_zero():
    bars = Bars("", ["a", "b"], [Series("s", [-0.5, 0.25], marks=[0.0, None])], "m")
    first, second = select(draw(bars), "rect", "bars")
    end = float(first.get("x")) + float(first.get("width"))
    assert end == pytest.approx(float(second.get("x")), abs=0.1)
    assert float(first.get("width")) == pytest.approx(2 * float(second.get("width")), abs=0.2)


def read_points(svg):
    return [(float(x.get("cx")), float(x.get("cy"))) for x in select(svg, "circle", "points")]


def test_points_are_where_their_values_are():
    svg = draw(POINTS)
    (x1, y1), (x2, y2), (x3, y3) = read_points(svg)
    assert (x2 - x1) / (x3 - x1) == pytest.approx(2 / 6, abs=0.001)  # log2 of 4 and of 64
    assert y1 == y3 > y2
    [fitted] = [x for x in select(svg, "path") if x.get("class") == "fitted"]
    start, low, end, high = read_way(fitted)
    slope = (high - low) / (end - start)
    unit_x, unit_y = (x2 - x1) / 2, (y2 - y1) / 0.25
    assert slope == pytest.approx(0.125 * unit_y / unit_x, rel=0.01)
    texts = [x.text for x in select(svg, "text")]
    assert {"en-fr", "ru", "a_run", "x", "y", "parameters", "RankC"} <= set(texts)


def test_a_steep_line_stays_inside():
    points = POINTS._replace(line=(5.0, -104.0))
    svg = draw(points)
    [fitted] = [x for x in select(svg, "path") if x.get("class") == "fitted"]
    _, low, _, high = read_way(fitted)
    grid = [read_way(x)[1::2] for x in select(svg, "path") if x.get("stroke") == "var(--line)"]
    assert all(min(grid[0]) - 0.1 <= y <= max(grid[0]) + 0.1 for y in (low, high))


@given(
    low=st.floats(-1e6, 1e6),
    wide=st.floats(1e-3, 1e6),
    log2=st.booleans(),
    factor=st.floats(1.01, 9),
)
def test_an_axis_has_ticks_inside_in_order(low, wide, log2, factor):
    ends = (wide, wide * factor) if log2 else (low, low + wide)
    ticks = Axis(ends, (0, 100), log2).ticks()
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted({*ticks})
    room = 1e-9 * max(map(abs, ends))
    assert ends[0] - room <= ticks[0] <= ticks[-1] <= ends[1] + room


@pytest.mark.parametrize(
    ("ends", "log2", "ticks"),
    [
        ((5e8, 8e9), True, [5e8, 1e9, 2e9, 5e9]),
        ((467e6, 671e6), True, [5e8, 5.5e8, 6e8, 6.5e8]),  # the sizes around one model
        ((0.178, 0.222), False, [0.18, 0.19, 0.2, 0.21, 0.22]),
    ],
)
def test_ticks_are_round(ends, log2, ticks):
    assert Axis(ends, (0, 100), log2).ticks() == pytest.approx(ticks)


def test_the_intervals_of_points_are_on_the_axes():
    point = Point("en", 0.2, 0.5, "", [0.1, 0.4], [0.45, 0.6])
    svg = draw(Points("t", [point], "x", "y"))
    ((x, y),) = read_points(svg)
    across, up = (read_way(line) for line in select(svg, "path") if line.get("class") == "whiskers")
    assert (across[1], across[3], up[0], up[2]) == (y, y, x, x)
    assert (across[2] - x) / (x - across[0]) == pytest.approx(2, abs=0.01)
    assert (y - up[3]) / (up[1] - y) == pytest.approx(2, abs=0.01)
    height, width = float(svg.get("height")), float(svg.get("width"))
    assert 0 < across[0] < across[2] < width
    assert 0 < up[3] < up[1] < height


def list_boxes(texts):
    for text in texts:
        x, y, half = float(text.get("x")), float(text.get("y")), measure_text(text.text) / 2
        yield x - half, y - 6, x + half, y + 6


def overlap(first, second):
    return not (first[2] <= second[0] or second[2] <= first[0] or first[3] <= second[1]
                or second[3] <= first[1])  # fmt: skip


def test_labels_cover_no_label_and_no_point():
    random = np.random.default_rng(3)
    points = [Point(f"{code}-en", *random.uniform(0, 1, 2)) for code in LANGUAGES[:NAMED]]
    labels = [point.label for point in points]
    names = dict(zip(labels, name_labels(labels), strict=True))
    svg = draw(Points("t", points, "x", "y"), names=names)
    boxes = [*list_boxes([x for x in select(svg, "text") if x.get("data-code")])]
    assert 10 < len(boxes) < NAMED
    assert not any(overlap(*pair) for pair in combinations(boxes, 2))
    for left, top, right, bottom in boxes:
        assert not any(left < x < right and top < y < bottom for x, y in read_points(svg))


@pytest.mark.parametrize("size", [1, 2, 12, 53])
def test_no_label_of_a_heat_map_covers_another(size):
    names = dict(zip(LANGUAGES[:size], name_labels(LANGUAGES[:size]), strict=True))
    svg = draw(make_heat(LANGUAGES[:size], mark=("chance", 0.3)), names=names)
    rows = [float(x.get("y")) for x in select(svg, "text", "rows")]
    columns = [x.get("transform") for x in select(svg, "text", "columns")]
    assert len(rows) == len(columns) == size
    assert all(below - above >= 12 for above, below in pairwise(rows))
    across = [float(re.search(r"translate\(([\d.]+)", x)[1]) for x in columns]
    wide = [12 if "rotate" in x else measure_text(names[code]) for x, code in zip(
        columns, LANGUAGES, strict=False)]  # fmt: skip
    assert all(b - a >= (v + w) / 2 for (a, v), (b, w) in pairwise(zip(across, wide, strict=True)))


def test_curves_go_through_their_values():
    series = [
        Series("a", [0.0, 0.5, 1.0], [[0, 0.1], [0.4, 0.6], [0.9, 1]]),
        Series("b", [0.5, None, 0.5]),
    ]
    svg = draw(join_points("t", series, "k", "recall"))
    points = read_points(svg)
    assert points[0][1] - points[1][1] == pytest.approx(points[1][1] - points[2][1], abs=0.2)
    assert points[3:] == [(points[place][0], points[1][1]) for place in (0, 2)]
    ways = [read_way(x) for x in select(svg, "path") if x.get("class") == "curve"]
    assert ways == [[end for point in part for end in point] for part in (points[:3], points[3:])]
    whiskers = [read_way(x) for x in select(svg, "path") if x.get("class") == "whiskers"]
    assert len(whiskers) == 3
    assert (whiskers[1][1] + whiskers[1][3]) / 2 == pytest.approx(points[1][1], abs=0.2)
    assert not [x for x in select(svg, "text") if x.get("stroke")]  # points have no labels


def test_boxes_are_from_quartile_to_quartile():
    svg = draw(BOXES)
    boxes = select(svg, "rect", "box")
    widths = [float(x.get("width")) for x in boxes]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)  # 2 to 4, 1 to 2
    whiskers, median, mean = (
        read_way(x) for x in next(x for x in svg.iter(f"{SVG}g") if x.get("class") == "box")
        if x.tag == f"{SVG}path"
    )  # fmt: skip
    unit, start = widths[0] / 2, float(boxes[0].get("x"))
    ends = [whiskers[k] for k in (0, 2, 3, 5)]
    assert ends == pytest.approx([start + unit * x for x in (-1, 0, 2, 7)], abs=0.2)
    assert [median[0], mean[0]] == pytest.approx([start + unit, start + 3 * unit], abs=0.2)
    assert {"a", "b", "en", "rank"} <= {x.text for x in select(svg, "text")}
    spans = sorted((float(x.get("y")), float(x.get("height"))) for x in boxes)
    assert spans[0][0] + spans[0][1] <= spans[1][0]


def test_letters_of_other_scripts_are_text_in_svg_and_named_elsewhere(tmp_path, capfd):
    bars = BARS._replace(title="模型")
    assert "模型" in read_texts(save(bars, tmp_path / "p.svg"))
    assert capfd.readouterr().err == ""
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    save(bars, tmp_path / "p.png")
    line = f"{tmp_path / 'p.png'}: letters of a script without a font on this machine are missing"
    assert capfd.readouterr().err.replace("\n", "").startswith(line)


def test_a_map_without_values_and_one_of_equal_values_are_drawn(tmp_path):
    empty = make_heat(["en", "ru"])
    empty = empty._replace(values=np.full([2, 2], np.nan))
    for values in (empty.values, np.ones([2, 2])):
        assert save(empty._replace(values=values), tmp_path / "p.svg")
    assert "no values" in read_texts(save(POINTS._replace(points=[]), tmp_path / "p.svg"))


def test_mistakes_are_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(PolyprobeError, match="cannot write .*; choose another --figure"):
        save_picture(BARS, tmp_path / "file" / "p.svg")
    with pytest.raises(PolyprobeError, match=r"p\.jpg: expected a name that ends in \.svg, \.pdf"):
        save_picture(BARS, tmp_path / "p.jpg")
    monkeypatch.setattr("polyprobe.system.messages.find_spec", lambda name: None)
    with pytest.raises(PolyprobeError, match=r"pip install 'polyprobe\[figures\]'"):
        save_picture(BARS, tmp_path / "p.pdf")
    assert [x.name for x in tmp_path.iterdir()] == ["file"]

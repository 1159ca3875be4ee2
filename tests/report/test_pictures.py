"""Pictures: the order of languages, what is drawn, and the files."""

import re
import subprocess
import sys
from itertools import combinations, pairwise, permutations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from polyprobe.report import pictures
from polyprobe.report.pictures import draw
from polyprobe.report.pictures.draw import make_figure, save_picture
from polyprobe.report.pictures.order import arrange, name_labels, order_languages
from polyprobe.report.pictures.picture import Bars, Heat, Point, Points, Series
from polyprobe.schema.languages import find_language, read_languages
from polyprobe.system.errors import PolyprobeError

REPORT = Path(pictures.__file__).parents[1] / "report"
LANGUAGES = sorted(read_languages(), key=lambda code: code[::-1])  # no order of the table


def make_heat(languages, seed=0, **fields):
    values = np.random.default_rng(seed).uniform(0.1, 0.9, [len(languages)] * 2)
    values = (values + values.T) / 2
    np.fill_diagonal(values, np.nan)
    return Heat("a $b$ γλώσσα", languages, languages, values, "RankC", **fields)


BARS = Bars(
    "bars",
    ["ru", "en", "fr"],
    [
        Series("a", [0.5, None, 0.25], [[0.4, 0.6], None, [0.1, 0.2]]),
        Series("b", [0.1, 0.2, 0.3]),
    ],
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


@pytest.mark.parametrize("seed", range(20))
def test_similarity_keeps_the_languages_of_a_cluster_together(seed):
    languages = LANGUAGES[:12]
    heat = make_heat(languages, seed)
    order = [languages.index(code) for code in arrange(heat, "similarity").rows]
    for group in cluster(np.nanmax(heat.values) - heat.values, languages):
        places = [order.index(i) for i in group]
        assert max(places) - min(places) + 1 == len(group)


def test_similar_languages_are_side_by_side():
    values = {"a-b": 0.1, "a-c": 0.9, "a-d": 0.2, "b-c": 0.0, "b-d": 0.8, "c-d": None}
    order = [*map("abcd".__getitem__, order_languages("abcd", "similarity", values))]
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset("ac"), frozenset("bd")}
    assert order_languages("ab", "similarity", {"a-b": 0.5}) == [0, 1]
    assert order_languages("abc", "similarity", dict.fromkeys(["a-b", "a-c", "b-c"])) == [0, 1, 2]


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
    assert order_languages(codes, "given") == [0, 1, 2, 3, 4]


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


def test_distances_are_ordered_by_the_similarity_beside_them():
    heat = make_heat(LANGUAGES[:9])
    distances = heat._replace(values=1 - heat.values, similar=heat.values)
    ordered = arrange(distances, "similarity")
    assert ordered.rows == arrange(heat, "similarity").rows
    assert ordered.similar == pytest.approx(1 - ordered.values, nan_ok=True)


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
    script, style = ((REPORT / x).read_text("utf-8") for x in ("chart.js", "report.css"))
    ramps = [re.findall("#[0-9a-f]{6}", x) for x in re.findall(r"= \[([^\]]*#[^\]]*)\]", script)]
    assert ramps == [draw.RAMP, draw.DIVERGING]
    light = style.partition("@media")[0]
    assert re.findall(r"--bar-\d: (#[0-9a-f]{6})", light) == draw.BARS
    for name, colour in (("ink", draw.INK), ("line", draw.LINE), ("card", draw.EMPTY)):
        assert f"--{name}: {colour}" in light


def save(picture, file, **options):
    save_picture(picture, file, **options)
    return file.read_bytes()


PICTURES = {"heat": make_heat(["en", "ru", "zh_hans"]), "bars": BARS, "points": POINTS}


@pytest.mark.parametrize("kind", PICTURES)
@pytest.mark.parametrize(
    ("ending", "magic"), [(".png", b"\x89PNG\r\n"), (".svg", b"<?xml"), (".PDF", b"%PDF-1.")]
)
def test_a_picture_has_its_format_and_the_same_bytes_each_time(tmp_path, kind, ending, magic):
    first = save(PICTURES[kind], tmp_path / f"one{ending}", names=True)
    assert first.startswith(magic)
    assert save(PICTURES[kind], tmp_path / f"two{ending}", names=True) == first
    if ending == ".PDF":
        assert b"/FontFile2" in first  # TrueType, not Type 3
        assert b"/Type3" not in first
    if ending == ".png":
        assert min(Image.open(tmp_path / "one.png").size) > 300


def test_another_process_gives_the_same_bytes(tmp_path):
    code = """
import sys, numpy as np
from pathlib import Path
from polyprobe.report.pictures.draw import save_picture
from polyprobe.report.pictures.picture import Heat
save_picture(Heat("t", ["en", "fr"], ["en", "fr"], np.eye(2), "m"), Path(sys.argv[1]))
"""
    found = []
    for seed in "12":
        file = tmp_path / f"{seed}.svg"
        command = [sys.executable, "-c", code, str(file)]
        subprocess.run(command, check=True, env={"PYTHONHASHSEED": seed, "HOME": str(tmp_path)})
        found.append(file.read_bytes())
    assert found[0] == found[1]


def read_texts(content):
    return [
        x.text for x in ElementTree.fromstring(content).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_the_text_of_an_svg_is_text(tmp_path):
    heat = make_heat(["en", "ru", "zh_hans"], mark=("chance", 0.3), low=0.05)
    texts = read_texts(save(heat, tmp_path / "p.svg", names=True))
    assert {"a $b$ γλώσσα", "RankC", "chance", "English", "Russian"} <= set(texts)
    shown = [f"{x:.2f}" for x in heat.values[~np.isnan(heat.values)]]
    assert [text for text in texts if text in shown] == shown  # by rows
    assert "zh_hans" in read_texts(save(heat, tmp_path / "p.svg"))


def test_cells_have_the_colours_of_the_ramp_and_frames(tmp_path):
    values = np.array([[np.nan, 0.2], [0.9, 0.55]])
    heat = Heat("t", "ab", "ab", values, "m", 0.2, 0.9, squares={"x": [(0, 1)], "y": [(1, 0)]})
    svg = save(heat, tmp_path / "p.svg").decode()
    assert draw.EMPTY in svg
    assert draw.RAMP[0] in svg
    assert draw.RAMP[-1] in svg
    middle = [round(sum(int(x[k : k + 2], 16) for x in draw.RAMP[4:6]) / 2) for k in (1, 3, 5)]
    fills = [
        tuple(int(x[k : k + 2], 16) for k in (0, 2, 4)) for x in re.findall(r"fill: #(\w{6})", svg)
    ]
    assert any(np.abs(np.subtract(fill, middle)).max() <= 1 for fill in fills)
    assert all(f"stroke: {colour}" in svg for colour in draw.FRAMES)
    assert {"x", "y"} <= set(read_texts(svg))


@pytest.mark.parametrize(
    "picture",
    [
        make_heat(["en", "ru"], squares={x: [(0, 1)] for x in ("a", "b", "c")}),
        BARS._replace(series=[BARS.series[0]._replace(bounds=[[0.4, 0.6]])]),
    ],
    ids=["squares", "bounds"],
)
def test_nothing_of_a_picture_is_left_out(picture):
    with pytest.raises(ValueError, match=r"zip\(\) argument 2 is"):
        make_figure(picture)


def test_a_scale_of_differences_has_zero_in_the_middle():
    heat = make_heat(["en", "ru"], diverging=True)
    figure = make_figure(heat._replace(values=heat.values - 0.7))
    mesh = figure.axes[0].collections[0]
    size = np.nanmax(np.abs(heat.values - 0.7))
    assert (mesh.norm.vmin, mesh.norm.vmax) == pytest.approx((-size, size))


def test_bars_are_drawn_from_zero_to_their_values():
    axes = make_figure(BARS).axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["ru", "en", "fr"]
    widths = [[bar.get_width() for bar in container] for container in axes.containers]
    expected = [one.values for one in BARS.series]
    assert np.array(widths) == pytest.approx(np.array(expected, float), nan_ok=True)
    drawn = [[*map(float, x.get_xdata())] for x in axes.lines]
    assert drawn == [[0.4, 0.6], [0.1, 0.2], [0.15, 0.15]]  # intervals, then chance
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["a", "b", "chance"]
    bottoms = sorted(bar.get_y() for container in axes.containers for bar in container)
    heights = {bar.get_height() for container in axes.containers for bar in container}
    assert min(np.diff(bottoms)) >= max(heights)  # none covers another


def test_points_are_where_their_values_are():
    axes = make_figure(POINTS).axes[0]
    drawn = [x.get_offsets().tolist() for x in axes.collections]
    assert drawn == [[[1e6, 0.5]], [[4e6, 0.75], [64e6, 0.5]]]
    across, up = (np.array(x) for x in axes.lines[0].get_data())
    assert up == pytest.approx(0.125 * np.log2(across) - 2)
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["en-fr", "ru", "a_run"]
    assert axes.get_xaxis().get_major_formatter()(2**27, None) == "134M"


def test_labels_cover_no_label_and_no_point():
    random = np.random.default_rng(3)
    points = [Point(f"{code}-en", *random.uniform(0, 1, 2)) for code in LANGUAGES[:55]]
    figure = make_figure(Points("t", points, "x", "y"), names=True)
    axes, renderer = figure.axes[0], figure.canvas.get_renderer()
    boxes = [Text.get_window_extent(text, renderer) for text in axes.texts]  # without lines
    assert 20 < len(boxes) < 55
    near = [text for text in axes.texts if text.arrow_patch is None]
    assert 5 < len(near) < len(boxes)
    for text in near:  # the nearest point is its own
        places = axes.transData.transform([(point.x, point.y) for point in points])
        box = Text.get_window_extent(text, renderer)
        gaps = np.maximum(np.maximum(box.min - places, places - box.max), 0).max(axis=1)
        assert points[int(gaps.argmin())][1:3] == text.xy
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
    places = axes.transData.transform([(point.x, point.y) for point in points])
    assert not any(box.contains(*place) for box in boxes for place in places)


@pytest.mark.parametrize("size", [1, 2, 12, 53])
def test_no_label_of_a_heat_map_covers_another(size):
    figure = make_figure(make_heat(LANGUAGES[:size], mark=("chance", 0.3)), names=True)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    axes = figure.axes[0]
    figure.draw(renderer)
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        boxes = [tick.get_window_extent(renderer) for tick in ticks]
        assert len(boxes) == size
        assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
    title, *others = axes.title.get_window_extent(renderer), *boxes
    assert not title.count_overlaps(others)


def test_letters_that_the_font_lacks_are_text_in_svg_and_named_elsewhere(tmp_path, capfd):
    bars = BARS._replace(title="模型")
    assert "模型" in read_texts(save(bars, tmp_path / "p.svg"))
    assert capfd.readouterr().err == ""
    save(bars, tmp_path / "p.png")
    line = f"{tmp_path / 'p.png'}: DejaVu Sans lacks some letters, shown as boxes; SVG keeps "
    assert capfd.readouterr().err.replace("\n", "").startswith(line)


def test_a_map_without_values_and_one_of_equal_values_are_drawn(tmp_path):
    empty = make_heat(["en", "ru"])
    empty = empty._replace(values=np.full([2, 2], np.nan))
    for values in (empty.values, np.ones([2, 2])):
        assert save(empty._replace(values=values), tmp_path / "p.png")


def test_mistakes_are_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(PolyprobeError, match="cannot write .*; choose another --figure"):
        save_picture(BARS, tmp_path / "file" / "p.svg")
    with pytest.raises(PolyprobeError, match=r"p\.jpg: expected a name that ends in \.svg, \.pdf"):
        save_picture(BARS, tmp_path / "p.jpg")
    monkeypatch.setattr("polyprobe.system.extras.find_spec", lambda name: None)
    with pytest.raises(PolyprobeError, match=r"pip install 'polyprobe\[figures\]'"):
        save_picture(BARS, tmp_path / "p.svg")
    assert [x.name for x in tmp_path.iterdir()] == ["file"]

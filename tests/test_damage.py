"""Damaged files of twelve kinds: one line of error, or the same result; never another one."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.analysis.board.board import make_board
from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.eval.work.score_store import ScoreStore
from polyprobe.publish.checks import check_source
from polyprobe.publish.export import RUN_FORMATS, export_run
from polyprobe.publish.source import read_source
from polyprobe.report.page.runs import write_board
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.system.download import ContentStore
from polyprobe.system.messages import PolyprobeError
from tests.making.boards import write_table_5
from tests.making.facts import write_facts
from tests.making.predictions import FIRST, write_predictions
from tests.making.runs import SCORES, write_run
from tests.making.stores import IDENTITY, queries
from tests.making.strangers import change_cell, change_value, reseal_files, reseal_json
from tests.making.tables import make_predictions as predictions
from tests.publish.push.folders import small_dataset

BINARY = ("flip", "byte", "zeros", "cut", "delete", "repeat", "exchange")
TEXT = (*BINARY, "digit", "drop line", "repeat line", "exchange lines")


def damage(content: bytes, kind: str, draw: random.Random) -> bytes:
    data, lines = bytearray(content), content.splitlines(keepends=True)
    at, other = draw.randrange(len(data)), draw.randrange(len(data))
    line, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    match kind:
        case "flip":
            data[at] ^= 1 << draw.randrange(8)
        case "byte":
            data[at] = draw.randrange(256)
        case "zeros":
            data[at : at + 16] = bytes(len(data[at : at + 16]))
        case "cut":
            del data[at:]
        case "delete":
            del data[at : at + draw.randint(1, 64)]
        case "repeat":
            data[at:at] = data[at : at + 16]
        case "exchange":
            data[at], data[other] = data[other], data[at]
        case "digit" if digits:
            data[draw.choice(digits)] = 48 + draw.randrange(10)
        case "drop line":
            del lines[line]
        case "repeat line":
            lines.insert(line, lines[line])
        case "exchange lines":
            lines[line], lines[second] = lines[second], lines[line]
    return b"".join(lines) if "line" in kind else bytes(data)


def read_figures(folder: Path):
    return find_results(Run(folder), Bootstrap(20))


def read_export(folder: Path):
    return export_run(folder, "csv").read_text(encoding="utf-8")


def read_rows(folder: Path):
    return load_facts(str(folder))


def read_board(folder: Path):
    check_source(read_source(folder))
    texts = [(folder / name).read_bytes() for name in ("index.html", "board.csv", "board.tex")]
    return {"texts": texts, "figures": json.loads((folder / "board.json").read_bytes())}


def read_scores(folder: Path):
    return ScoreStore(folder, IDENTITY).find(*queries(*range(40))[:2])


def read_translations(folder: Path):
    store = ContentStore(folder / "translations.sqlite", "translations", seal=b"")
    return [store.find([key]).get(key) for key in TRANSLATIONS]


TRANSLATIONS = {b"%d" % n: f"Übersetzung {n}".encode() for n in range(40)}
# The file to damage, the result that depends on it, and the kinds of damage.
FILES = {
    "scores": ("run/scores/ru.parquet", read_figures, BINARY),
    "predictions": ("free/predictions/en.parquet", read_figures, BINARY),
    "run.json": ("run/run.json", read_figures, TEXT),
    "results.json": ("run/results.json", read_export, TEXT),
    "Parquet": ("small/data/default/fr.parquet", read_rows, BINARY),
    "card": ("small/README.md", read_rows, TEXT),
    "page": ("board/index.html", read_board, TEXT),
    "board.csv": ("board/board.csv", read_board, TEXT),
    "board.tex": ("board/board.tex", read_board, TEXT),
    "board.json": ("board/board.json", read_board, TEXT),
    "score store": ("scores/{store}", read_scores, BINARY),
    "translations": ("translations.sqlite", read_translations, BINARY),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two runs, a dataset with the card of a build, and both stores."""
    folder = tmp_path_factory.mktemp("whole")
    write_run(folder / "run", write_facts(folder / "facts"), SCORES)
    free = Run(folder / "free")
    table = predictions(["gold", "gold", "x", "gold"])
    settings = Run(folder / "run").settings()
    free.open(replace(settings, scoring="xfactr", languages=["en"], fingerprint={"en": "0"}))
    free.write("en", table)
    small_dataset(folder / "small")
    write_board(make_board(write_table_5(folder / "table 5")), folder / "board")
    ScoreStore(folder, IDENTITY).add(*queries(*range(40)))
    store = ContentStore(folder / "translations.sqlite", "translations", seal=b"")
    store.add(TRANSLATIONS)
    return folder


@pytest.mark.parametrize("times", [6, pytest.param(60, marks=pytest.mark.acceptance)])
@pytest.mark.parametrize("kind", FILES)
def test_no_damage_passes_unseen(kind, times, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, read, ways = FILES[kind]
    (store,) = (place / "scores").iterdir()
    name = name.format(store=store.name)
    top = name.split("/")[0] if "/" in name and kind != "score store" else ""
    draw = random.Random(f"{kind} {times}")
    content = (place / name).read_bytes()
    whole = read(place / top)
    said: list[str] = []
    for number in range(times):
        way = ways[number % len(ways)]
        copy = tmp_path / f"{number}"
        shutil.copytree(place / top, copy)
        file = copy / Path(name).relative_to(top)
        file.write_bytes(damage(content, way, draw))
        try:
            found = read(copy)
        except PolyprobeError as error:
            said.append(str(error))
        else:
            assert same(found, whole), (way, number, file)
        shutil.rmtree(copy)
    assert not [line for line in said if "\n" in line]
    assert len(said) > times / 4 or kind in ("card", "score store", "translations")


COMMANDS = {
    "results.json": [
        "report RUN --output OUT/one.html", "report RUN OTHER --output OUT/two.html",
        "board RUN OTHER --despite-differences --output OUT/board",
        *(f"export RUN --format {x} --dataset-id a/b --output OUT/{x}.tex" for x in RUN_FORMATS),
    ],
    "run.json": [
        "report RUN OTHER --output OUT/two.html", "export RUN --format csv --output OUT/a.csv",
        "board RUN OTHER --despite-differences", "compare RUN OTHER --resamples 10",
        "groups RUN --by script", "relate RUN --with script", "metrics RUN --resamples 0",
        "push RUN a/b --dry-run",
    ],
    "Parquet": [
        "compare RUN OTHER --resamples 10", "groups RUN --by script", "metrics RUN --resamples 20",
        "relate RUN --with script", "report RUN --output OUT/one.html",
    ],
}  # fmt: skip


@pytest.mark.parametrize("times", [3, pytest.param(40, marks=pytest.mark.acceptance)])
@pytest.mark.parametrize("kind", ["scores", "predictions"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_strangers_run_is_read_or_refused_in_one_line(name, kind, times, tmp_path, capsys):
    """Values of other types, missing keys and other languages, with right checksums."""
    other = {"en": ["gold", "y", "gold", "y", "z", "x"]}
    for folder, texts in (("predictions", FIRST), ("predictions 2", FIRST | other)):
        write_predictions(tmp_path / folder, texts)
    facts = write_facts(tmp_path / "facts")
    for folder, model in (("scores", "synthetic"), ("scores 2", "another")):
        write_run(tmp_path / folder, facts, SCORES, model, None, Bootstrap(20), "bmlama", SCORES)
    draw, said = random.Random(f"{name} {kind} {times}"), list[str]()
    for number in range(times):
        run = shutil.copytree(tmp_path / kind, tmp_path / f"{number}")
        if name == "Parquet":
            change_cell(draw.choice(sorted(run.glob("*/*.parquet"))), draw)
            reseal_files(run)
        else:
            content = json.loads((run / name).read_text(encoding="utf-8"))
            reseal_json(run, name, change_value(content, draw))
        for command in COMMANDS[name]:
            places = {"RUN": run, "OTHER": tmp_path / f"{kind} 2", "OUT": run}
            words = [str(places.get(x, x.replace("OUT", str(run)))) for x in command.split()]
            try:
                app(words, standalone_mode=False)
            except PolyprobeError as error:
                said.append(str(error))
    assert len(said) > times
    assert not [line for line in said if {"\n", "\x1b"} & {*line} or str(tmp_path) not in line]
    assert "\x1b" not in "".join(capsys.readouterr())


def same(found, whole) -> bool:
    if isinstance(whole, list):
        return all(value in (None, known) for value, known in zip(found, whole, strict=True))
    return found == whole


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("scores", [1.0, float("nan")], "scores has a number that is not finite"),
        ("scores", [1.0, None], "scores has a null"),
        ("scores", None, "scores has a null"),
        ("scores", [1.0, 0.0, 0.5], "n_tokens has not as many values as scores"),
        ("n_tokens", [1, -1], "n_tokens has a number below 0"),
        ("answers", [2], "answers is not among scores"),
        ("donor", None, "donor has a null beside donor_scores"),
    ],
)
def test_a_wrong_score_is_named(column, value, fault, tmp_path):
    write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES, donor_scores=SCORES)
    file = tmp_path / "run/scores/ru.parquet"
    table = pq.read_table(file)
    values, field = table[column].to_pylist(), table.schema.field(column)
    values[-1] = value
    number = table.schema.names.index(column)
    pq.write_table(table.set_column(number, field, pa.array(values, field.type)), file)
    reseal_files(tmp_path / "run")
    with pytest.raises(
        PolyprobeError, match=rf"ru\.parquet: language 'ru', row 8: {fault}; delete"
    ):
        Run(tmp_path / "run").read("ru")

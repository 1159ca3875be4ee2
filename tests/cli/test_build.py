import typer
from typer.testing import CliRunner

from polyprobe import PolyprobeError
from polyprobe.cli.build import build

app = typer.Typer()
app.command()(build)


def test_options_reach_the_builder(monkeypatch, tmp_path):
    calls = []

    def build_dataset(*arguments):
        calls.append(arguments)
        return tmp_path / "out"

    monkeypatch.setattr("polyprobe.builder.build.build_dataset", build_dataset)
    out = tmp_path / "out"
    options = ["--config", "17", "--config", "53", "--mirror", str(tmp_path), "--output", str(out)]
    result = CliRunner().invoke(app, ["bmlama", *options])
    assert calls == [("bmlama", ["17", "53"], tmp_path, out)]
    assert result.stdout == f"bmlama lies in {out}\n"
    CliRunner().invoke(app, ["geofacts"])
    assert calls[1] == ("geofacts", (), None, None)


def test_a_mistake_is_one_line():
    result = CliRunner().invoke(app, ["nothing"])
    assert isinstance(result.exception, PolyprobeError)
    assert str(result.exception) == "unknown dataset 'nothing'; available: bmlama, geofacts"

"""Compare the products byte for byte before and after a change of the code.

    python -m bench same_products OLD_TREE [--only NAME] [--mirror FOLDER]

Run a checkout of an older version and this one with the same commands, and compare the
files they write: the demo's results.json, BMLAMA, geofacts, a balanced dataset, a sentence version,
the worked examples of the metrics, the JSON of compare, groups, relate and board, and the exports.
Print one line for each product; the exit status is 1 if any differs. Only the command line and
`evaluate.load` are used, since modules moved between the trees.
"""

import argparse
import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
MIRROR = ROOT.parent / "shared" / "upstream"
COMMAND = "import sys; from polyprobe.cli import run; sys.argv[0] = 'polyprobe'; run()"
# Runs every example of the metrics' cards in turn, and prints all results.
EXAMPLES = """
import contextlib, doctest, io, json, re, sys
from pathlib import Path
import evaluate
found = {}
for card in sorted((Path(sys.argv[1]) / "metrics").glob("*/README.md")):
    for number, code in enumerate(re.findall(r"```python\\n(.*?)```", card.read_text(), re.S)):
        out = io.StringIO()
        if ">>> " in code:
            code = "".join(example.source for example in doctest.DocTestParser().get_examples(code))
        code = re.sub(r'evaluate\\.load\\("(?:[^"]*/)?(\\w+)"\\)', LOAD, code)
        with contextlib.redirect_stdout(out):
            try:
                space = {"evaluate": evaluate}
                exec(code, space)
                kinds = (dict, list, int, float, str)
                values = [v for k, v in space.items() if isinstance(v, kinds) and k[:2] != "__"]
                print(json.dumps(values, default=str, sort_keys=True))
            except Exception as error:
                print(type(error).__name__, error)
        found[f"{card.parent.name} {number}"] = out.getvalue()
print(json.dumps(found, sort_keys=True))
""".replace("LOAD", """lambda m: f'evaluate.load({str(card.parents[1] / m[1])!r})'""")


class Tree:
    """A checkout, importable as `polyprobe` through a link in its own folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root.resolve(), folder
        (folder / "package").mkdir(parents=True)
        (folder / "package" / "polyprobe").symlink_to(self.root)
        own = {"PYTHONPATH": str(folder / "package"), "POLYPROBE_CACHE": str(folder / "cache")}
        own |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "OMP_NUM_THREADS": "1"}
        self.variables = os.environ | own

    def run(self, *arguments: str) -> str:
        """Run Python in the folder and return standard output; RuntimeError if it fails."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-300:])
        return done.stdout

    def make_folder(self, *parts: str) -> Path:
        """Make a folder of the tree and return its path."""
        folder = self.folder.joinpath(*parts)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def polyprobe(self, *arguments: str) -> None:
        """Run the command line."""
        self.run("-c", COMMAND, *arguments)


def make_demo(tree: Tree, mirror: Path, new: bool) -> None:
    """Run the demo and keep only results.json."""
    tree.polyprobe("demo", "--output", "out/demo")
    for path in (tree.folder / "out" / "demo").iterdir():
        if path.name != "results.json":
            remove(path)


def make_bmlama(tree: Tree, mirror: Path, new: bool) -> None:
    """Build all four configurations of BMLAMA."""
    configs = ("17", "53", "17-repaired", "53-repaired")
    chosen = [part for config in configs for part in ("--config", config)]
    tree.polyprobe("build", "bmlama", *chosen, "--mirror", str(mirror), "--output", "out/bmlama")


def make_geofacts(tree: Tree, mirror: Path, new: bool) -> None:
    """Build geofacts."""
    tree.polyprobe("build", "geofacts", "--output", "out/geofacts")


def make_balanced(tree: Tree, mirror: Path, new: bool) -> None:
    """Build 20 facts of one relation of mParaRel in three languages."""
    tree.polyprobe(
        "build", "balanced", "--source", "mpararel", "--languages", "en,fr,ru",
        "--relations", "P36", "--max-per-relation", "20", "--candidates", "4",
        "--mirror", str(mirror), "--output", "out/balanced",
    )  # fmt: skip


def make_sentences(tree: Tree, mirror: Path, new: bool) -> None:
    """Build a sentence version of geofacts with Apertium."""
    old_form = ["build", "geofacts", "--config", "default-sentence"]
    new_form = ["build", "sentences", "geofacts", "--config", "default"]
    how = ["--languages", "es", "--translator", "apertium", "--output", "out/sentences"]
    if new:
        try:
            return tree.polyprobe(*new_form, *how)
        except RuntimeError as error:
            if "sentences" not in str(error):
                raise
    return tree.polyprobe(*old_form, *how)


def make_examples(tree: Tree, mirror: Path, new: bool) -> None:
    """Run the examples of the metrics' cards."""
    found = json.loads(tree.run("-c", EXAMPLES, str(tree.root)).splitlines()[-1])
    folder = tree.folder / "out" / "examples"
    folder.mkdir(parents=True)
    for name, text in found.items():
        (folder / name).write_text(text.replace(str(tree.root), "ROOT"), encoding="utf-8")


RUN = ("--dataset", "geofacts", "--languages", "en,es,ru,ko,el", "--sample", "60")
MASKED = ROOT / "tests" / "data" / "models" / "masked"
RUNS = {  # folder → model and options
    "a": ("geolm", *RUN),
    "b": ("geolm", *RUN, "--scoring", "object-tokens"),
    "letters": ("geolm", *RUN, "--scoring", "letters", "--permutations", "2"),
    "filled": (str(MASKED), *RUN, "--scoring", "xfactr", "--gold"),
    "refined": (str(MASKED), *RUN, "--scoring", "xfactr", "--refinement", "confidence"),
}
ANALYSES = {  # file in out/ → command, with runs by name
    "compare.json": "compare runs/a runs/b --by-relation --json",
    "decodings.json": "compare runs/filled runs/refined --json",
    "groups.json": "groups runs/a --by relation --json",
    "scripts.json": "groups runs/a --by script --json",
    "relate.json": "relate runs/a --with script,family,subwords --json",
    "board": "board runs/a runs/b runs/letters --despite-differences --output",
    "results.csv": "export runs/a --format csv --output",
    "filled.csv": "export runs/filled --format csv --output",
    "table.tex": "export runs/a --format latex --output",
}
FIGURES = "default,right_in_both,right_given_right,right_alone,agreement,kappa,rbo,kendall_tau_b"


def make_analyses(tree: Tree, mirror: Path, new: bool) -> None:
    """Score five runs, and analyse and export them; keep results.json and the files."""
    for name, options in RUNS.items():
        tree.polyprobe("eval", *options, "--output", f"runs/{name}")
        shutil.copy(tree.folder / "runs" / name / "results.json", tree.make_folder("out", name))
    for name, command in ANALYSES.items():
        tree.polyprobe(*command.split(), f"out/{name}")
    tree.polyprobe("metrics", "runs/a", "--figures", FIGURES, "--average", "micro")
    shutil.copy(tree.folder / "runs" / "a" / "results.json", tree.make_folder("out", "figures"))
    for page in (tree.folder / "out").rglob("*.html"):
        page.unlink()  # pages may be written in another way


PRODUCTS = {
    "analyses": make_analyses,
    "demo": make_demo,
    "bmlama": make_bmlama,
    "geofacts": make_geofacts,
    "balanced": make_balanced,
    "sentences": make_sentences,
    "examples": make_examples,
}


def main(argv: Sequence[str] = ()) -> None:
    """Make every product with both trees, and print one line for each."""
    parser = argparse.ArgumentParser(prog="python -m bench same_products")
    parser.add_argument("old", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--only", action="append", choices=PRODUCTS)
    parser.add_argument("--mirror", type=Path, default=MIRROR)
    asked = parser.parse_args(argv)
    different = False
    for name in asked.only or PRODUCTS:
        with tempfile.TemporaryDirectory() as folder:
            line, same = compare_product(name, asked.old, Path(folder), asked.mirror.resolve())
        print(f"{name}: {line}", flush=True)
        different |= not same
    raise SystemExit(different)


def compare_product(name: str, old: Path, folder: Path, mirror: Path) -> tuple[str, bool]:
    """Return one line about a product, and whether both trees write the same files."""
    outputs = []
    for side, root in (("old", old), ("new", ROOT)):
        tree = Tree(root, folder / side)
        try:
            PRODUCTS[name](tree, mirror, side == "new")
        except RuntimeError as error:
            return f"the {side} tree failed: {error}", False
        outputs.append(tree.folder / "out")
    paths = [sorted(p.relative_to(out) for p in out.rglob("*") if p.is_file()) for out in outputs]
    if paths[0] != paths[1]:
        only = sorted(set(paths[0]) ^ set(paths[1]))
        return f"other files: {', '.join(map(str, only[:5]))}", False
    _, different, failed = filecmp.cmpfiles(
        outputs[0], outputs[1], map(str, paths[0]), shallow=False
    )
    different = [name for name in different if not same_rows(*(out / name for out in outputs))]
    if different or failed:
        shown = ", ".join((different + failed)[:5])
        return f"{len(different + failed)} of {len(paths[0])} files differ: {shown}", False
    return f"the same, {len(paths[0])} files", True


def same_rows(*files: Path) -> bool:
    """Return whether two Parquet files differ only in the words of their notes."""
    if files[0].suffix != ".parquet":
        return False
    tables = [pq.read_table(file) for file in files]
    notes = [json.loads((table.schema.metadata or {}).get(b"polyprobe", b"{}")) for table in tables]
    numbers = [sorted(list_numbers(note), key=repr) for note in notes]  # words order the repairs
    return tables[0].equals(tables[1]) and numbers[0] == numbers[1]


def list_numbers(note: Any) -> list[Any]:
    """Return all values of a note that are not texts."""
    if isinstance(note, dict | list):
        parts = note.values() if isinstance(note, dict) else note
        return [number for part in parts for number in list_numbers(part)]
    return [] if isinstance(note, str) else [note]


def remove(path: Path) -> None:
    """Delete a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()

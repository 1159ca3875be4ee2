"""No command writes or shows a secret of an address, a header or the environment."""

import base64
import gzip
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

from tests.builder.translators.server import serving as translating
from tests.hub.client import run_polyprobe
from tests.hub.messages import Token
from tests.scoring.served.stand_in import serving

pytestmark = pytest.mark.acceptance
OWN = Path(__file__).parents[2] / "docs" / "examples" / "own"
TOKEN = "hf_sekretTokenOfTheHub01234567890"
KEY, PROXY = "sekretKeyOfTheServer1", "sekretWordOfTheProxy2"
USER, WORD, QUERY, PART = (
    "sekretUserOfTheAddress3", "sekretWord/Of%Address4", "sekretQueryOfTheAddress5",
    "sekretPartOfTheAddress6",
)  # fmt: skip
SECRETS = (TOKEN, KEY, PROXY, USER, WORD, QUERY, PART)


def fill(address):
    """Put a secret into each place of an address."""
    return address.replace("//", f"//{USER}:{quote(WORD, safe='')}@") + f"?key={QUERY}#{PART}"


NOWHERE = fill("http://127.0.0.1:9")
VARIABLES = {
    **dict.fromkeys(("POLYPROBE_API_KEY", "OPENAI_API_KEY"), KEY),
    **dict.fromkeys(("APERTIUM_APY", "OPENAI_BASE_URL", "POLYPROBE_GITHUB"), NOWHERE),
    "http_proxy": f"http://me:{PROXY}@127.0.0.1:9",
    "no_proxy": "127.0.0.1",
    "HF_TOKEN": TOKEN,
}


def search(text):
    """List the secrets in bytes, as they are and as servers and libraries write them."""
    pair = base64.b64encode(f"{USER}:{WORD}".encode()).decode()
    forms = {x: (x, quote(x, safe=""), quote(x, safe="").lower()) for x in SECRETS}
    forms["header"] = (pair,)
    return [name for name, ways in forms.items() if any(way.encode() in text for way in ways)]


def read(path):
    """Read a file with what it has packed: Parquet, SQLite, gzip."""
    content = path.read_bytes()
    with suppress(Exception):
        table = pq.read_table(path)
        content += f"{table.to_pydict()} {table.schema.metadata}".encode()
    with suppress(Exception):
        content += gzip.decompress(path.read_bytes())
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as database:
            content += "".join(database.iterdump()).encode()
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'"):
                rows = database.execute(f"SELECT * FROM {name}").fetchall()
                content += b"".join(x for row in rows for x in row if isinstance(x, bytes))
    return content


@pytest.fixture
def run(tmp_path):
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()

    def run(*words, good=True, variables=None, **options):
        done = run_polyprobe(
            *map(str, words),
            home=home,
            folder=folder,
            variables={**VARIABLES, "POLYPROBE_CACHE": str(home / "store"), **(variables or {})},
            **options,
        )
        assert (done.returncode == 0) == good, (words, done.stderr)
        assert "Traceback" not in done.stderr
        shown = done.stdout + done.stderr
        assert search(shown.encode()) == [], (words, shown)
        return shown

    yield run
    files = [path for place in (home, folder) for path in place.rglob("*") if path.is_file()]
    assert files
    assert {path: names for path in files if (names := search(read(path)))} == {}


def build_sentences(run, address, good=True, **more):
    run(
        *("build", "sentences", "geofacts", "--languages", "es", "--translator", "openai"),
        *("--translator-option", "model=m", "--translator-option", f"base_url={address}"),
        *("--lemmatizer", "none", "--output", "sentences"),
        good=good,
        **more,
    )


def test_translators(run, tmp_path):
    with translating() as server:
        server.plan.extend(["429", "500"])
        build_sentences(run, fill(server.openai))
        assert server.bodies[0]["authorization"].startswith("Basic ")
        assert set(server.paths) == {f"/v1/chat/completions?key={QUERY}"}
        text = Path(tmp_path, "work/sentences/README.md").read_text()
        assert f"at {server.openai} " in text
        shutil.rmtree(tmp_path / "home" / "store")
        for server.always in ("400", "401"):
            build_sentences(run, fill(server.openai).replace("?", "/x?"), good=False)
        run("push", "sentences", "me/sentences", "--dry-run")
        run("audit", "sentences", "--config", "default-sentence", "--output", "audit.html")
    build = ("build", "sentences", "geofacts", "--languages", "es", "--lemmatizer", "none")
    for name, option in (("apertium", "url"), ("googletrans", "base_url"), ("openai", "base_url")):
        value = NOWHERE.replace(":9", ":x")
        words = ("--translator", name, "--translator-option", f"{option}={value}")
        run(*build, *words, "--output", "x", good=False)
    run(*build, "--translator", "apertium", "--output", "x", good=False)
    run(*build, "--translator", "openai", "--translator-option", f"api_key={KEY}", good=False)
    run("build", "bmlama", "--output", "bmlama", good=False)
    engine = f"apertium url={NOWHERE}"
    balanced = ("build", "balanced", "--source", "mpararel", "--languages", "en,es")
    run(*balanced, "--template-translator", engine, "--output", "b", good=False)
    run(*balanced, "--trusted", engine, "--output", "b", good=False)


def test_runs_of_servers(run):
    ask = ("eval", "geolm", "--dataset", "geofacts", "--languages", "en,es", "--sample", 6)
    for dialect in ("vllm", "llama.cpp"):
        with serving(dialect) as server:
            run(*ask, "--server", fill(server.url), "--output", dialect)
            assert server.queries == {f"key={QUERY}"}
            run("eval", "gpt", *ask[2:], "--server", fill(server.url), "--tokenizer", "geolm",
                "--output", "o", good=dialect == "llama.cpp")  # fmt: skip
    run(*ask, "--server", NOWHERE, "--output", "o2", good=False)
    run(*ask, "--server", f"ftp{NOWHERE[4:]}", "--output", "o2", good=False)
    run("metrics", "vllm", "--by-relation")
    run("report", "vllm", "llama.cpp", "--output", "report.html")
    run("compare", "vllm", "llama.cpp", "--output", "compare.html")
    run("board", "vllm", "llama.cpp", "--output", "board")
    for name in ("csv", "latex", "model-index"):
        run("export", "vllm", "--format", name, "--output", f"export-{name}")


def test_the_hub(run, hub, tmp_path):
    hub.tokens[TOKEN] = Token("me")
    work = tmp_path / "work"
    run("build", "own", OWN / "facts.csv", "--templates", OWN / "templates.toml", "--output", "own")
    run("push", "own", "me/own", "--private", endpoint=hub.url)
    run("install", "own")
    hub.fail("/api/whoami-v2", 401)
    run("push", "own", "me/own2", "--private", endpoint=hub.url, good=False)
    endpoint = fill(hub.url)
    run("push", "own", "me/own", endpoint=endpoint, good=False)
    ask = ("--languages", "en", "--sample", 2, "--output", "o")
    run("eval", "me/model", "--dataset", "geofacts", *ask, endpoint=endpoint, good=False)
    hub.unknown.clear()
    assert (work / "own" / "README.md").exists()

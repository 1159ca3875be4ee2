"""Models with their own code: refused without the option; named, pinned and hashed with it."""

import hashlib
import json
import shutil

import pytest
from transformers import LlamaForCausalLM

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.load import load
from polyprobe.scoring.options import ScorerOptions
from polyprobe.scoring.weights.places import find_code_files, locate_model
from polyprobe.system.messages import PolyprobeError
from tests.eval.tasks import needs_ray, use_crew_here
from tests.hub.client import run_client, run_polyprobe
from tests.making import tiny
from tests.making.facts import write_facts

PROMPT, CANDIDATES = "The capital of France is [Y].", ["Paris", "Berlin", "Rome"]
CODE = {
    "configuration_own.py": """
from transformers import LlamaConfig


class OwnConfig(LlamaConfig):
    model_type = "own"
""",
    "halves.py": "SHARE = 0.5\n",
    "modeling_own.py": """
from transformers import LlamaForCausalLM

from .configuration_own import OwnConfig
from .halves import SHARE


class OwnForCausalLM(LlamaForCausalLM):
    config_class = OwnConfig

    def forward(self, *args, **kwargs):
        answer = super().forward(*args, **kwargs)
        answer.logits = SHARE * answer.logits
        return answer
""",
}
AUTO_MAP = {
    "AutoConfig": "configuration_own.OwnConfig",
    "AutoModelForCausalLM": "modeling_own.OwnForCausalLM",
}


def change(folder, name="config.json", **said):
    file = folder / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **said}))


def add_code(folder, owner="", **said):
    """Make a Llama folder one of `own` models; its classes are in the folder or the owner's."""
    classes = {kind: f"{owner}{name}" for kind, name in AUTO_MAP.items()}
    change(folder, model_type="own", architectures=["OwnForCausalLM"], auto_map=classes, **said)
    if not owner:
        for name, text in CODE.items():
            (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return tiny.save_model("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture
def own(llama, tmp_path):
    folder = add_code(shutil.copytree(llama, tmp_path / "own"))
    with (folder / "configuration_own.py").open("a") as file:
        file.write(f"# {tmp_path.name}\n")
    return folder


def halved(folder):
    """Return a scorer of the plain class whose head, and therefore every logit, is halved."""
    scorer = load_scorer(str(folder))
    assert isinstance(scorer.model, LlamaForCausalLM)
    head = scorer.model.get_output_embeddings().weight
    head.data = head.data / 2
    return scorer


def test_code_is_run_with_the_option_only(own, llama, capsys):
    with pytest.raises(PolyprobeError) as error:
        load_scorer(str(own))
    assert "has its own code" in str(error.value)
    assert "unless you add --trust-remote-code" in str(error.value)
    loaded = load(str(own), ScorerOptions(trust_remote_code=True))
    found = loaded.scorer.score([PROMPT], [CANDIDATES])
    assert found == [pytest.approx(halved(llama).score([PROMPT], [CANDIDATES])[0], abs=1e-6)]
    digest = hashlib.sha256()
    for name in sorted(CODE):
        digest.update(name.encode() + hashlib.sha256((own / name).read_bytes()).digest())
    assert loaded.extra == {"code": f"sha256-{digest.hexdigest()}"}
    warning = (
        f"warning: the code of '{own}' at sha256-{digest.hexdigest()[:12]} is run: "
        "configuration_own.py, halves.py, modeling_own.py\n"
    )
    assert capsys.readouterr().err.count(warning) == 1


def test_the_option_changes_nothing_for_models_without_code(llama, capsys):
    plain, trusted = load(str(llama)), load(str(llama), ScorerOptions(trust_remote_code=True))
    assert trusted.extra == plain.extra == {}
    assert trusted.scorer.score([PROMPT], [CANDIDATES]) == plain.scorer.score(
        [PROMPT], [CANDIDATES]
    )
    assert "warning" not in capsys.readouterr().err


def test_other_code_is_another_revision_and_never_run_as_the_first(own, tmp_path):
    first = load(str(own), ScorerOptions(trust_remote_code=True))
    copy = shutil.copytree(own, tmp_path / "copy")
    same = load(str(copy), ScorerOptions(trust_remote_code=True))
    assert (same.extra, same.revision) == (first.extra, first.revision)
    (copy / "halves.py").write_text("SHARE = 0.25\n")
    assert find_code_files([locate_model(str(copy), None)]).hash != first.extra["code"]
    with pytest.raises(PolyprobeError, match="was loaded earlier in this process; load this model"):
        load(str(copy), ScorerOptions(trust_remote_code=True))


def test_the_code_is_part_of_the_signature(own, tmp_path):
    run = Run(tmp_path / "run")
    facts = write_facts(tmp_path / "facts")
    evaluate_model(str(own), facts, output=run.folder, languages="en", trust_remote_code=True)
    settings = run.settings()
    code = settings.further["code"]
    assert settings.identity["code"] == code
    assert f"|code:{code[:19]}|" in settings.signature


@needs_ray
def test_workers_run_the_code_too(own, tmp_path, monkeypatch):
    use_crew_here(monkeypatch)
    facts = write_facts(tmp_path / "facts")
    asked = {"trust_remote_code": True, "cache": False}
    here = evaluate_model(str(own), facts, output=tmp_path / "one", **asked)
    assert evaluate_model(str(own), facts, output=tmp_path / "two", devices=2, **asked) == here
    assert Run(tmp_path / "one").read("ru").equals(Run(tmp_path / "two").read("ru"))


def exit_in_forward(folder):
    file = folder / "modeling_own.py"
    file.write_text(
        file.read_text().replace("        answer = ", "        exit(3)\n        answer = ")
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "halves.py").unlink(), "names code in halves.py, which it does not have"),
        (lambda f: (f / "modeling_own.py").write_text("import nowhere_at_all"), "nowhere_at_all"),
        (lambda f: (f / "modeling_own.py").write_text("1 / 0"), "ZeroDivisionError: division by"),
        (lambda f: change(f, auto_map={"AutoConfig": AUTO_MAP["AutoConfig"]}), "Unrecognized"),
        (lambda f: change(f, auto_map={"AutoConfig": 5}), "auto_map in config.json of "),
        (lambda f: (f / "modeling_own.py").write_text("exit(3)"), "SystemExit: 3"),
        (
            lambda f: (f / "halves.py").write_text("import os, sys\nsys.exit(os.getpid())"),
            "SystemEx",
        ),
        (exit_in_forward, "cannot be run here on text (SystemExit: 3)"),
    ],
)
def test_code_that_cannot_be_run_is_one_line(spoil, message, own):
    spoil(own)
    with pytest.raises(PolyprobeError) as error:
        load_scorer(str(own), trust_remote_code=True)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


LOAD = """
import contextlib, io, json
from polyprobe.scoring.load import load
from polyprobe.scoring.options import ScorerOptions
from polyprobe.scoring.weights.places import find_code_files
from polyprobe.scoring.weights.places import locate_model

said = io.StringIO()
with contextlib.redirect_stderr(said):
    loaded = load({model!r}, ScorerOptions(trust_remote_code=True, revision={revision!r}))
scores = loaded.scorer.score([{prompt!r}], [{candidates!r}])
answer = [loaded.revision, dict(loaded.extra), scores[0], said.getvalue()]
"""


def load_served(model, hub, home, revision=None, **where):
    code = LOAD.format(model=model, revision=revision, prompt=PROMPT, candidates=CANDIDATES)
    return run_client(code, home, hub.url, **where)


@pytest.mark.acceptance
def test_code_of_the_hub_is_pinned_before_it_is_run(own, llama, hub, tmp_path):
    """The classes are in the model's repository, then in another one that is changed later."""
    want = pytest.approx(halved(llama).score([PROMPT], [CANDIDATES])[0], abs=1e-6)
    hub.add("model", "me/own", own)
    commit, further, scores, said = load_served("me/own", hub, tmp_path / "home")
    assert scores == want
    assert len(commit) == 40
    assert f"warning: the code of 'me/own' at {commit} is run: " in said
    other = add_code(shutil.copytree(llama, tmp_path / "other"), "me/own--")
    hub.add("model", "me/other", other)
    again = load_served("me/other", hub, tmp_path / "home")
    assert again[1:3] == [further, want]
    assert again[0] != commit
    assert f"warning: the code of 'me/own' at {commit} is run: " in again[3]
    refused = run_polyprobe(
        "eval", "me/own", "--dataset", "geofacts", "--output", "run",
        home=tmp_path / "home", folder=tmp_path, endpoint=hub.url,
    )  # fmt: skip
    assert refused.returncode == 1
    assert "has its own code" in refused.stderr
    assert "Traceback" not in refused.stderr

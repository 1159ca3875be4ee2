"""Free answers of vLLM and llama.cpp, by completions and chats: those of the model here."""

import shutil
from copy import deepcopy
from pathlib import Path

import pytest

from polyprobe.bench import servers
from polyprobe.bench.gguf_files import write_gguf
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.chat import Chat

from .stand_in import GEOLM

CHAT = "/v1/chat/completions"
ASKED = {"scoring": "answer", "answer_tokens": 16, "sample": 6, "cache": False}
LANGUAGES = "en,ru"
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(not servers.PYTHON.exists(), reason="needs `make servers`"),
]


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    """SmolLM2-135M-Instruct with the weights of its GGUF file in float32, as a folder and a file.

    Its authors recommend a penalty here, which vLLM applies where nothing else is asked for.
    """
    folder = tmp_path_factory.mktemp("smollm2") / "smollm2"
    here = load_scorer(str(servers.find_smollm2()))
    config = deepcopy(here.model.config)
    del config.quantization_config  # transformers saves no GGUF
    plain = type(here.model)(config)
    plain.load_state_dict(here.model.state_dict())
    plain.generation_config.repetition_penalty = 1.5
    plain.save_pretrained(folder)
    here.tokenizer.save_pretrained(folder)
    return folder, servers.find_smollm2()


@pytest.fixture(scope="module")
def geolm(tmp_path_factory):
    folder = shutil.copytree(GEOLM, tmp_path_factory.mktemp("model") / "geolm")
    file = folder.parent / "geolm.gguf"
    write_gguf(Path(GEOLM), file)
    return folder, file


def run(model, output, **options):
    evaluate_model(str(model), "geofacts", languages=LANGUAGES, output=output, **ASKED | options)
    return [row for x in LANGUAGES.split(",") for row in Run(output).read(x).to_pylist()]


def texts(rows):
    return [row[name] for row in rows for name in ("answer", "donor_answer")]


@pytest.mark.parametrize("name", ["smollm2", "geolm"])
@pytest.mark.parametrize("kind", ["vllm", "llama"])
def test_servers_give_the_answers_of_this_process(kind, name, request, tmp_path):
    folder, file = request.getfixturevalue(name)
    server = (
        servers.serve_vllm(folder, name)
        if kind == "vllm"
        else servers.serve_llama(file, cache="float32")
    )
    chats = [False, True] if name == "smollm2" else [False]
    with server as url:
        for chat in chats:
            own = run(folder, tmp_path / f"own-{chat}", chat=chat)
            options = {"server": url, "tokenizer": str(folder), "chat": chat, "shots": 0}
            served = run(name, tmp_path / f"served-{chat}", **options)
            assert [row["asked"] for row in served] == [row["asked"] for row in own]
            assert len({*texts(own)}) > 4
            compare(texts(own), texts(served), kind, name)
            assert Run(tmp_path / f"served-{chat}").settings().scoring == (
                "answer-16" if chat else "answer-16-line"
            )
        if name == "smollm2":  # by the chat route alone the server applies the template
            served = run(name, tmp_path / "route", server=url + CHAT)
            chat = Chat(Run(tmp_path / "route").settings().chat["head"], "", {}, is_json=True)
            questions = [row["asked"] for row in run(folder, tmp_path / "bare")]
            assert [row["asked"] for row in served] == [*map(chat.ask, questions)]
            compare(texts(own), texts(served), kind, name)


def compare(own, served, kind, name):
    """Quantised weights are multiplied in 8 bits by llama.cpp, so that some texts change."""
    same = sum(a == b for a, b in zip(own, served, strict=True))
    print(kind, name, same, len(own), [x for x in zip(own, served, strict=True) if x[0] != x[1]])
    exact = kind == "vllm" or name == "geolm"
    assert same == len(own) if exact else same >= len(own) / 2

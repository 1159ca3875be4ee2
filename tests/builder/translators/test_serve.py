"""Our client with an independent server: `transformers serve`."""

import shutil
import socket
import subprocess
import sys
import threading
from collections import deque
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from polyprobe.builder.translators.engines.openai import OpenAI
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import Pace
from tests.making import tiny

pytest.importorskip("fastapi", reason="needs transformers[serving]")

TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
TEXT = " Oslo\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny Llama that generates TEXT after a colon: its layers add nothing, its head is a chain.

    With attention and feed-forward at zero only the last token decides the next: the row of
    the next token in the head is the embedding of the last one.
    """
    folder = tiny.save_model("llama", tmp_path_factory.mktemp("model") / "llama")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    llama, tokenizer = (
        kind.from_pretrained(folder) for kind in (AutoModelForCausalLM, AutoTokenizer)
    )
    chain = [*tokenizer(f":{TEXT}", add_special_tokens=False).input_ids, tokenizer.eos_token_id]
    assert len(set(chain)) == len(chain)
    with torch.no_grad():
        for layer in llama.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        llama.lm_head.weight.zero_()
        for last, following in pairwise(chain):
            llama.lm_head.weight[following] = llama.model.embed_tokens.weight[last]
    llama.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def address(model):
    command = shutil.which("transformers", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("no command transformers beside this Python")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [command, "serve", str(model), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(
        [*serve, "--device", "cpu", "--log-level", "info"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        log = []
        for line in process.stdout:
            log.append(line)
            if "Uvicorn running on" in line:
                break
        rest = threading.Thread(target=deque, args=(process.stdout, 0))  # a full pipe would block
        rest.start()
        try:
            assert process.poll() is None, "".join(log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            rest.join()


@pytest.mark.slow
def test_a_real_server_is_understood(model, address):
    engine = OpenAI(model=str(model), base_url=address, max_tokens=20)
    engine.pace = Pace(tries=1)
    assert engine.translate_each(["Oslo lies in Norway."], "en", "sw") == [("Oslo", "")]
    short = OpenAI(model=str(model), base_url=address, max_tokens=1)
    short.pace = Pace(tries=1)
    [found] = short.translate_each(["Oslo lies in Norway."], "en", "sw")
    assert found == ("", "broken answer: cut short by the limit of tokens, once")
    wrong = OpenAI(model="another", base_url=address)
    with pytest.raises(PolyprobeError, match="HTTP 400; check the model's name"):
        wrong.translate(["Oslo lies in Norway."], "en", "sw")

"""A GGUF file gives the same scores as its original folder."""

import gguf
import pytest
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from polyprobe.bench.gguf_files import write_gguf
from polyprobe.eval import load_scorer
from polyprobe.scoring.load import load
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_a_gguf_file_takes_an_adapter(tmp_path):
    folder = tiny.save_model("llama", tmp_path / "llama")
    file = tmp_path / "tiny.gguf"
    write_gguf(folder, file)
    kind = LoraConfig(r=2, init_lora_weights=False, target_modules=["q_proj", "up_proj"])
    get_peft_model(AutoModelForCausalLM.from_pretrained(folder), kind).save_pretrained(
        tmp_path / "lora"
    )
    asked = ["The capital of France is [Y]."], [["Paris", "Berlin"]]
    [want] = load_scorer(str(folder), adapter=str(tmp_path / "lora")).score(*asked)
    assert load_scorer(str(folder)).score(*asked) != [pytest.approx(want, abs=1e-3)]
    [found] = load_scorer(str(file), adapter=str(tmp_path / "lora")).score(*asked)
    assert found == pytest.approx(want, abs=1e-5)
    with pytest.raises(PolyprobeError, match=r"quantised already \(gguf\); leave it out"):
        load_scorer(str(file), quantize="4bit")


def test_scores_of_a_gguf_file(tmp_path):
    folder = tiny.save_model("llama", tmp_path / "llama")
    file = tmp_path / "gguf" / "tiny.gguf"
    file.parent.mkdir()
    write_gguf(folder, file)
    queries = ["The capital of France is [Y].", "Столица Франции — [Y]."]
    candidates = [["Paris", "Berlin"], ["Париж", "Берлин"]]
    want = load_scorer(str(folder)).score(queries, candidates)
    got = load_scorer(str(file)).score(queries, candidates)
    for row, expected in zip(got, want, strict=True):
        assert row == pytest.approx(expected, abs=1e-5)
    assert load(str(file)).revision.startswith("sha256-")
    assert load_scorer(str(file.parent)).score(queries, candidates) == got  # its only file


@pytest.mark.parametrize("layers", [0, 1, 3, 10**9])
def test_layers_are_those_of_the_tensors(layers, tmp_path):
    """Fewer layers would be other scores, a billion a minute."""
    file = tmp_path / "tiny.gguf"
    write_gguf(tiny.save_model("llama", tmp_path / "llama"), file)
    field = gguf.GGUFReader(file).fields["llama.block_count"]
    at = field.offset + sum(part.nbytes for part in field.parts[:-1])
    content = file.read_bytes()
    file.write_bytes(content[:at] + layers.to_bytes(4, "little") + content[at + 4 :])
    with pytest.raises(
        PolyprobeError, match=f"its header has {layers} layers, its tensors are of 2"
    ):
        load_scorer(str(file))
    file.write_bytes(content[:16] + bytes([2]) + content[17:])
    with pytest.raises(PolyprobeError, match="it is not a readable GGUF file"):
        load_scorer(str(file))

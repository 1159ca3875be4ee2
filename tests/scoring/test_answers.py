"""Free answers: those of `transformers` for each prompt alone, by the most probable tokens."""

from itertools import takewhile

import pytest
import torch

from polyprobe.eval import load_scorer
from polyprobe.schema.columns import SENTENCE_START
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.scoring.protocols import QUERIES
from tests.scoring.templates import CASES

SHOTS = f"Rome is in Italy.\nParis is in France.\n{SENTENCE_START}"
PROMPTS = [p for p, _ in QUERIES if not p.startswith("[Y]")]
PROMPTS += [f"{SHOTS}{prompt}" for prompt in PROMPTS[:2]]
N = 12


@pytest.fixture(scope="session")
def scorers(tmp_path_factory):
    made = {}

    def get(kind, **options):
        if kind not in made:
            made[kind] = str(tiny.save_model(kind, tmp_path_factory.mktemp("answers") / kind))
        return load_scorer(made[kind], scoring="answer", answer_tokens=N, **options)

    return get


def ask(scorer, prompts):
    scored = scorer.score_counted(prompts, [["___"]] * len(prompts))
    assert [row.scores for row in scored] == [[0.0]] * len(prompts)
    return [row.text for row in scored]


@torch.inference_mode()
def write(model, ids, ends, decoder=()):
    """Take the most probable token of whole forwards, one after the other."""
    made = []
    while len(made) < N and made[-1:] not in [[end] for end in ends]:
        rows = {"input_ids": torch.tensor([[*ids, *([] if decoder else made)]])}
        if decoder:
            rows["decoder_input_ids"] = torch.tensor([[*decoder, *made]])
        made.append(int(model(**rows).logits[0, -1].argmax()))
    return made


def first_line(text):
    return text.rstrip("\ufffd").strip().partition("\n")[0].rstrip()


@pytest.mark.parametrize("kind", ["llama", "gpt2", "bloom"])
def test_answers_are_the_first_lines_of_greedy_texts(kind, scorers):
    scorer = scorers(kind)
    assert scorer.scoring == f"answer-{N}-line"
    expected, plain = [], []
    for prompt in PROMPTS:
        text = prompt.replace(SENTENCE_START, "").partition("[Y]")[0].rstrip()
        assert scorer.show(prompt) == text
        ids = scorer.tokenizer(text)["input_ids"]
        ids = [scorer.tokenizer.bos_token_id] * (kind == "bloom") + ids
        made = scorer.model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False,
            max_new_tokens=N, pad_token_id=0,
        )[0, len(ids) :]  # fmt: skip
        expected.append(first_line(scorer.tokenizer.decode(made, skip_special_tokens=True)))
        plain.append(write(scorer.model, ids, [scorer.model.generation_config.eos_token_id]))
        assert plain[-1] == made.tolist()
    assert ask(scorer, PROMPTS) == expected
    assert ask(scorer, PROMPTS[::-1]) == expected[::-1]
    assert len({*expected}) > len(PROMPTS) / 2
    # What the authors recommend changes the text of `generate`, and not the answers.
    scorer.model.generation_config.update(repetition_penalty=5.0, suppress_tokens=plain[0])
    assert ask(scorer, PROMPTS) == expected
    assert scorer.model.generation_config.repetition_penalty == 5.0


def test_t5_fills_the_sentinel_up_to_the_next(scorers):
    scorer = scorers("t5")
    tokenizer, model = scorer.tokenizer, scorer.model
    first, second = map(tokenizer.convert_tokens_to_ids, ("<extra_id_0>", "<extra_id_1>"))
    prompts = [prompt.partition("[Y]")[0] + "[Y]" for prompt in PROMPTS]

    def expect(ends):
        texts = []
        for prompt in prompts:
            source = prompt.replace(SENTENCE_START, "").replace("[Y]", "<extra_id_0>")
            assert scorer.show(prompt) == source
            ids = tokenizer(source)["input_ids"]
            made = write(model, ids, ends, (model.config.decoder_start_token_id, first))
            texts.append(tokenizer.decode(made, skip_special_tokens=True).rstrip("\ufffd").strip())
        return texts

    ends = [tokenizer.eos_token_id, second]
    expected = expect(ends)
    assert ask(scorer, prompts) == expected
    # A model that ends its fillings: the next sentinel is its most probable token but one.
    with torch.no_grad():
        model.lm_head.weight[second] = model.lm_head.weight.mean(0) * 40
    assert ask(scorer, prompts) == expect(ends)


def test_an_answer_ends_at_each_end_of_the_model(scorers):
    """Answers that end earlier share a batch with longer ones, whose padding may be a word."""
    scorer = scorers("llama")
    ids = [scorer.tokenizer(scorer.show(prompt))["input_ids"] for prompt in PROMPTS[:2]]
    made = [write(scorer.model, row, []) for row in ids]
    end = made[0].index(made[0][5])
    scorer.model.generation_config.eos_token_id = [1, made[0][end]]
    rows = [made[0][:end], [*takewhile(lambda token: token != made[0][end], made[1])]]
    assert 0 < end < len(rows[1]) or len(rows[1]) < N
    assert len(ids[0]) == len(ids[1])
    assert ask(scorer, PROMPTS[:2]) == [first_line(scorer.tokenizer.decode(row)) for row in rows]


def test_a_model_is_not_asked_for_more_than_a_line(scorers):
    scorer = scorers("llama")
    [line] = scorer.tokenizer("\n", add_special_tokens=False)["input_ids"]
    calls = []

    def write_line(*args):
        calls.append(None)
        args[-1][..., line] += 1000.0 * (len(calls) == 4)

    [whole] = ask(scorer, PROMPTS[:1])
    scorer.model.lm_head.register_forward_hook(write_line)
    [answer] = ask(scorer, PROMPTS[:1])
    assert len(calls) == 4 < N
    assert answer != whole
    assert whole.startswith(answer.rstrip("\ufffd"))


@pytest.mark.parametrize("name", ["qwen3", "yi", "deepseek-r1"])
def test_in_a_chat_the_user_asks_and_thinking_is_off(name, scorers):
    case = CASES[name]
    plain = scorers("llama")
    plain.tokenizer.add_tokens([*case.special], special_tokens=True)
    plain.model.resize_token_embeddings(len(plain.tokenizer), mean_resizing=False)
    plain.tokenizer.chat_template = case.template
    asked = {"scoring": "answer", "answer_tokens": N, "chat": True, "system": "Be short."}
    scorer = load_scorer(plain.model, tokenizer=plain.tokenizer, **asked)
    assert scorer.scoring == f"answer-{N}"
    assert [*scorer.extra] == ["chat"]
    expected = []
    for prompt in PROMPTS:
        question = prompt.replace(SENTENCE_START, "").partition("[Y]")[0].rstrip()
        messages = [{"role": "system", "content": "Be short."}]
        text = plain.tokenizer.apply_chat_template(
            [*messages, {"role": "user", "content": question}], tokenize=False,
            add_generation_prompt=True, enable_thinking=False,
        )  # fmt: skip
        text += "\n</think>\n\n" if name == "deepseek-r1" else ""
        assert scorer.show(prompt).rstrip() == text.rstrip()
        ids = plain.tokenizer(scorer.show(prompt), add_special_tokens=False)["input_ids"]
        made = write(plain.model, ids, [1])
        expected.append(
            plain.tokenizer.decode(made, skip_special_tokens=True).rstrip("\ufffd").strip()
        )
    assert ask(scorer, PROMPTS) == expected


@pytest.mark.parametrize(("kind", "room"), [("gpt2", 256), ("llama", 2048)])
def test_an_answer_needs_room_behind_its_question(kind, room, scorers):
    scorer = scorers(kind)
    assert len(ask(scorer, [f"{'1' * (room - N)} [Y]"])) == 1
    with pytest.raises(PolyprobeError, match=f"of {room - N + 1} tokens .* up to {N}; lower"):
        ask(scorer, [f"{'1' * (room - N + 1)} [Y]"])
    with pytest.raises(PolyprobeError, match="the model reads"):
        ask(scorer, [f"{'1' * 4000} [Y]"])

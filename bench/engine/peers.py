"""The peers of the engine: functions that score rows with the libraries of others.

Each loader imports its library in a function, since no interpreter has all of them. vLLM and
llama.cpp run in the worker's process, so that its processor time is all of theirs.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from .reference import SENTINEL, SLOT, Ids, fill_causal, fill_seq2seq

BATCH = 32

Score = Callable[[list[str], list[list[str]]], list[list[float]]]


def load_lm_eval(family: str, model: str, dtype: str) -> Score:
    """Return the scoring function of equation 9 or 10 with the harness's HFLM, batch size 32.

    All requests are passed at once, so that HFLM can sort them by length and merge equal ones.
    Equation 10 without a BOS needs its token interface: the first token is the context, the rest of
    the sentence the continuation. Equation 9 is the log-probability of `<extra_id_0> c` minus that
    of `<extra_id_0>`.
    """
    from lm_eval.models.huggingface import HFLM

    backend = {"causal": "causal", "seq2seq": "seq2seq"}[family]
    lm = HFLM(pretrained=model, backend=backend, device="cpu", dtype=dtype, batch_size=BATCH)
    ask = {"causal": ask_sentences, "seq2seq": ask_fillings}[family]
    return lambda prompts, candidates: ask(lm, prompts, candidates)


def ask_sentences(lm: Any, prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
    """Return the mean log-probability of each sentence without its first token."""
    requests = []
    for prompt, row in zip(prompts, candidates, strict=True):
        for sentence in (prompt.replace(SLOT, candidate) for candidate in row):
            ids = lm.tok_encode(sentence)
            requests.append((("", sentence), ids[:1], ids[1:]))
    found = lm._loglikelihood_tokens(requests, disable_tqdm=True)
    means = (total / len(ids) for (total, _), (_, _, ids) in zip(found, requests, strict=True))
    return [[next(means) for _ in row] for row in candidates]


def ask_fillings(lm: Any, prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
    """Return the mean log-probability of each candidate after the sentinel."""
    sentinel = lm.tokenizer.convert_tokens_to_ids(SENTINEL)
    requests, sizes = [], []
    for prompt, row in zip(prompts, candidates, strict=True):
        fillings = fill_seq2seq(lm.tokenizer, prompt, row)
        source = list(fillings[0].before)
        for pieces in ((), *(filling.pieces for filling in fillings)):
            requests.append(((prompt, ""), source, [sentinel, *pieces]))
            sizes.append(len(pieces))
    totals = iter([total for total, _ in lm._loglikelihood_tokens(requests, disable_tqdm=True)])
    counts = iter(sizes)
    found = []
    for row in candidates:
        alone, _ = next(totals), next(counts)
        found.append([(next(totals) - alone) / next(counts) for _ in row])
    return found


def load_lm_pub_quiz(family: str, model: str, dtype: str) -> Score:
    """Return lm-pub-quiz's mean over the answer (encoder-only) or the sentence, batch size 32.

    `answer_l2r+word_l2r` with conditional scores is equation 8 on the candidate's sub-words inside
    its sentence. For decoder-only models lm-pub-quiz scores the sentence after a BOS.
    """
    from lm_pub_quiz import Evaluator

    kinds: dict[str, dict[str, Any]] = {
        "masked": {
            "model_type": "MLM",
            "pll_metric": "answer_l2r+word_l2r",
            "conditional_score": True,
        },
        "causal": {"model_type": "CLM"},
    }
    evaluator = Evaluator.from_model(
        model, model_kw={"dtype": dtype}, capitalize=False, **kinds[family]
    )

    def score(prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
        return [
            evaluator.evaluate_instance(
                template=prompt, answers=row, reduction="mean", batch_size=BATCH
            )
            for prompt, row in zip(prompts, candidates, strict=True)
        ]

    return score


BLOCK = 32  # tokens in a block of vLLM's prefix cache: the fewest that its attention on CPUs takes


def load_vllm(family: str, model: str, dtype: str) -> Score:
    """Return equation 10 by prompt log-probabilities of vLLM, all sentences at once.

    vLLM computes no log-probabilities of tokens in cached blocks, nor of the token that follows
    them. So a sentence reads the prefix cache only if an earlier one shares its first block and the
    next token. The cache is emptied before the rows. `enforce_eager`: with compilation,
    loading takes 130 s, and processor time is the same within 3%.
    """
    from bench.servers import VLLM

    os.environ.update(VLLM | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"})
    import vllm

    llm = vllm.LLM(
        model, dtype=dtype, max_model_len=512, block_size=BLOCK, enforce_eager=True,
        enable_prefix_caching=True,
    )  # fmt: skip
    tokenizer = llm.get_tokenizer()

    def ask(sentences: list[Ids], cached: bool) -> Iterable[tuple[Ids, float]]:
        how = vllm.SamplingParams(
            max_tokens=1, temperature=0, prompt_logprobs=0, detokenize=False,
            skip_reading_prefix_cache=not cached,
        )  # fmt: skip
        prompts = [{"prompt_token_ids": list(ids)} for ids in sentences]
        answers = llm.generate(prompts, how, use_tqdm=False)
        for ids, answer in zip(sentences, answers, strict=True):
            for k in range(1 + (answer.num_cached_tokens or 0), len(ids)):
                yield ids[: k + 1], answer.prompt_logprobs[k][ids[k]].logprob

    def score(prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
        llm.reset_prefix_cache()
        rows = list_sentences(tokenizer, prompts, candidates)
        sentences = list(dict.fromkeys(ids for row in rows for ids in row))
        first = list({ids[: BLOCK + 1]: ids for ids in reversed(sentences)}.values())
        known = dict(ask(first, cached=False))
        known |= ask([ids for ids in sentences if ids not in known], cached=True)
        lost = [ids for ids in sentences if any(x not in known for x in list_prefixes(ids))]
        known |= ask(lost, cached=False)  # branches behind a later block
        return average(rows, known)

    return score


SLOTS = 24  # rows that llama.cpp computes at the same time: one token of each in a batch
TOP = 200  # most probable tokens in an answer: they save requests for the other candidates


def load_llama(family: str, model: str, dtype: str) -> Score:
    """Return equation 10 by llama.cpp, with MODEL.gguf in float32.

    llama.cpp returns log-probabilities of generated tokens only, so each distinct prefix takes a
    request, whose next token is forced. The requests of a row go to one slot, depth first, so each
    computes one token. The first request of a row does not read the slot's cache of earlier rows.
    """
    from concurrent.futures import ThreadPoolExecutor

    from transformers import AutoTokenizer

    from bench.servers import start_llama

    assert dtype == "float32"
    threads = int(os.environ["OMP_NUM_THREADS"])
    server = start_llama(Path(f"{model}.gguf"), threads=threads, cache="float32", shared=SLOTS)
    tokenizer = AutoTokenizer.from_pretrained(model)
    [whole] = tokenizer(",", add_special_tokens=False)["input_ids"]
    pool = ThreadPoolExecutor(SLOTS)
    free: SimpleQueue[int] = SimpleQueue()
    for slot in range(SLOTS):
        free.put(slot)

    def force(ids: Ids, token: int, top: int, slot: int) -> dict[int, float]:
        answer = server.handle_completions({
            "prompt": list(ids), "n_predict": 1, "temperature": 0, "n_probs": top,
            "logit_bias": [[token, 1000.0]], "cache_prompt": len(ids) > 1, "id_slot": slot,
        })  # fmt: skip
        [step] = answer["choices"][0]["logprobs"]["content"]
        return {one["id"]: one["logprob"] for one in (*step["top_logprobs"], step)}

    def ask(ids: Ids, children: list[int], slot: int) -> dict[int, float]:
        """Return the log-probabilities of children; those that end inside a character are hidden.

        They are read from the most probable tokens or, if missing there, from all tokens.
        """
        found: dict[int, float] = {}
        for child in children:
            if child not in found:
                hidden = "\ufffd" in tokenizer.decode([child])
                top = TOP if hidden or len(children) > 1 else 1
                found |= force(ids, whole if hidden else child, top, slot)
            if child not in found:
                found |= force(ids, whole, len(tokenizer), slot)
        return found

    def score_row(row: list[Ids]) -> dict[Ids, float]:
        nodes: dict[Ids, list[int]] = {}
        for prefix in sorted({x for ids in row for x in list_prefixes(ids)}):
            nodes.setdefault(prefix[:-1], []).append(prefix[-1])
        slot = free.get()
        try:
            answers = {ids: ask(ids, nodes[ids], slot) for ids in sorted(nodes)}
        finally:
            free.put(slot)
        return {(*ids, token): answers[ids][token] for ids in nodes for token in nodes[ids]}

    def score(prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
        rows = list_sentences(tokenizer, prompts, candidates)
        return average(rows, {x: p for row in pool.map(score_row, rows) for x, p in row.items()})

    return score


def list_sentences(
    tokenizer: Any, prompts: list[str], candidates: list[list[str]]
) -> list[list[Ids]]:
    """Return the token ids of every candidate in its prompt."""
    rows = zip(prompts, candidates, strict=True)
    return [[filling.pieces for filling in fill_causal(tokenizer, *row)] for row in rows]


def list_prefixes(ids: Ids) -> list[Ids]:
    """Return the prefixes whose last token is scored: all but the first."""
    return [ids[:end] for end in range(2, len(ids) + 1)]


def average(rows: list[list[Ids]], known: Mapping[Ids, float]) -> list[list[float]]:
    """Return the mean log-probability of each sentence, from that of the last token of prefixes."""
    return [
        [sum(known[x] for x in list_prefixes(ids)) / (len(ids) - 1) for ids in row] for row in rows
    ]

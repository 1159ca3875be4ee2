"""lm-evaluation-harness and lm-pub-quiz, each asked for BMLAMA's scores as far as it can.

Run by an interpreter that has them; polyprobe need not be there.
"""

from collections.abc import Callable
from typing import Any

from inputs import SENTINEL, SLOT, fill_seq2seq

BATCH = 32

Score = Callable[[list[str], list[list[str]]], list[list[float]]]


def load_lm_eval(family: str, model: str, dtype: str) -> Score:
    """Return equation 9 or 10 by the harness's HFLM, batch 32.

    All requests go in at once, so that it can sort them by length and merge equal ones. Equation
    10 without a BOS needs its token interface: the first token is the context, the rest of the
    sentence the continuation. Equation 9 is the log-probability of `<extra_id_0> c` less that of
    `<extra_id_0>`.
    """
    from lm_eval.models.huggingface import HFLM

    backend = {"causal": "causal", "seq2seq": "seq2seq"}[family]
    lm = HFLM(pretrained=model, backend=backend, device="cpu", dtype=dtype, batch_size=BATCH)
    ask = {"causal": ask_sentences, "seq2seq": ask_fillings}[family]
    return lambda prompts, candidates: ask(lm, prompts, candidates)


def ask_sentences(lm: Any, prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
    """Return the mean log-probability of each sentence but for its first token."""
    requests = []
    for prompt, row in zip(prompts, candidates, strict=True):
        for sentence in (prompt.replace(SLOT, candidate) for candidate in row):
            ids = lm.tok_encode(sentence)
            requests.append((("", sentence), ids[:1], ids[1:]))
    found = lm._loglikelihood_tokens(requests, disable_tqdm=True)
    means = (total / len(ids) for (total, _), (_, _, ids) in zip(found, requests, strict=True))
    return [[next(means) for _ in row] for row in candidates]


def ask_fillings(lm: Any, prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
    """Return the mean log-probability of each candidate behind the sentinel."""
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
    """Return lm-pub-quiz's mean over the answer (encoder-only) or the sentence, batch 32.

    `answer_l2r+word_l2r` with conditional scores is equation 8, but on the sub-words that the
    candidate has inside its sentence; of decoder-only models it scores the sentence behind a BOS.
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

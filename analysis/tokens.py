"""Count the tokens of answers or candidates in a model's tokenizer (X-FACTR's figure 6)."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa


class TokenCounts(NamedTuple):
    """The tokens of the texts of one language."""

    n_texts: int  # a text counts once for each fact that it is in
    counts: dict[int, int]  # tokens → texts, ascending; 0: the tokenizer drops the text
    n_words: int  # between blanks; a text of a script without blanks is one word
    n_characters: int  # code points, without blanks
    n_unknown: int  # with an unknown token, which the free decoding excludes

    @property
    def n_tokens(self) -> int:
        """Count the tokens of all texts."""
        return sum(length * texts for length, texts in self.counts.items())

    def share(self, low: int, high: int | None = None) -> float:
        """Compute the share of texts with `low` to `high` tokens (default: or more)."""
        counts = (n for k, n in self.counts.items() if k >= low and (high is None or k <= high))
        return sum(counts) / self.n_texts

    def as_json(self) -> dict[str, Any]:
        """List the counts and ratios; fertility is tokens per word."""
        return {
            "n_texts": self.n_texts,
            "shares": {str(k): n / self.n_texts for k, n in self.counts.items()},
            "tokens": self.n_tokens / self.n_texts,
            "tokens_per_word": self.n_tokens / self.n_words,
            "tokens_per_character": self.n_tokens / self.n_characters,
            "unknown": self.n_unknown / self.n_texts,
        }


def count_tokens(
    tokenizer: Any, tables: Mapping[str, pa.Table], texts: str = "answers"
) -> dict[str, TokenCounts]:
    """Count the tokens of the `answers` (the first of each row) or all `candidates` by language."""
    return {name: _count(tokenizer, table, texts) for name, table in tables.items()}


def _count(tokenizer: Any, table: pa.Table, kind: str) -> TokenCounts:
    from polyprobe.scoring.scorers.scorer import fit

    prompts: list[tuple[str, list[str]]] = []
    for row in table.select(["prompt", "candidates", "answers"]).to_pylist():
        candidates = row["candidates"]
        answers = [candidates[row["answers"][0]]]
        prompts.append((row["prompt"], candidates if kind == "candidates" else answers))
    # A text is in many rows, and its tokens are the same in all of them until it is fitted.
    distinct = list(dict.fromkeys(text for _, texts in prompts for text in texts))
    ids = tokenizer(distinct, add_special_tokens=False)["input_ids"]
    pieces = dict(zip(distinct, map(tuple, ids), strict=True))
    lengths: Counter[int] = Counter()
    for prompt, texts in prompts:
        lengths.update(map(len, fit(prompt, [pieces[text] for text in texts], tokenizer)))
    counts = Counter(text for _, texts in prompts for text in texts)
    unknown = tokenizer.unk_token_id
    return TokenCounts(
        counts.total(),
        dict(sorted(lengths.items())),
        sum(n * len(text.split()) for text, n in counts.items()),
        sum(n * len("".join(text.split())) for text, n in counts.items()),
        sum(n for text, n in counts.items() if unknown is not None and unknown in pieces[text]),
    )

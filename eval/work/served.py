"""The model of a server that a run is resumed with: the same as before?"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from polyprobe.schema.run.folder import AGREE, Run
from polyprobe.scoring.scorers import Scorer
from polyprobe.system.errors import PolyprobeError

from .fill import as_scores, queries_of
from .score_store import split_scores

REPEATED = 5  # rows that are scored again


def check_same_model(
    run: Run, scorer: Scorer, texts: Mapping[str, pa.Table], rows: Sequence[int]
) -> None:
    """Refuse a served model that does not repeat some scores of the run's first language.

    A score that is a sum may differ by `AGREE` for each token. Without the values of all tokens
    (`ServedEngine.exact`) rounding decides which are given, so scores are not compared.
    """
    first = run.settings().languages[0]
    if run.missing([first]) or first not in texts or not scorer.engine.exact:
        return
    places = [*range(0, len(rows), max(1, len(rows) // REPEATED))][:REPEATED]
    table = texts[first].take([rows[k] for k in places])
    prompts, candidates = zip(*queries_of(table), strict=True)
    scored = scorer.score_counted(prompts, candidates)
    now = as_scores(table, split_scores(scored))["scores"].to_pylist()
    table_of_run = run.read(first).take(places)
    before, tokens = table_of_run["scores"].to_pylist(), table_of_run["n_tokens"].to_pylist()
    summed = scorer.scoring == "object"
    worst = max(
        abs(a - b) / (n if summed else 1)
        for row in zip(now, before, tokens, strict=True)
        for a, b, n in zip(*row, strict=True)
    )
    if worst > AGREE:
        raise PolyprobeError(
            f"the server gives other scores than those of {first!r} in {run.folder} (they differ "
            f"by {worst:.3g}): it has another model; serve the same one, or choose another --output"
        )

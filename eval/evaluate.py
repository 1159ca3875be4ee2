"""Put a model in front of a dataset: what is missing is scored, then the results."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from polyprobe.eval.results.compute import compute_results
from polyprobe.eval.run.folder import Run
from polyprobe.eval.run.protocol import as_asked, check_askable, protocol_of
from polyprobe.eval.run.sample import choose_rows
from polyprobe.eval.run.settings import Settings
from polyprobe.eval.scoring.decoding import DecodingChoices, DecodingOptions, take_decoding
from polyprobe.eval.scoring.load import Loaded, ModelOptions, load
from polyprobe.eval.work.choose import (
    WorkerChoices,
    choose_workers,
    forget_own,
    open_store,
    take_workers,
)
from polyprobe.eval.work.fill import fill_scores
from polyprobe.eval.work.fill_predictions import fill_predictions
from polyprobe.schema.identity import fingerprint
from polyprobe.schema.load import load_facts
from polyprobe.system.files import locked


class Options(ModelOptions, DecodingChoices, WorkerChoices, total=False):
    """How a model is loaded and asked, how it decodes where it does, and who does the work."""


def evaluate_model(
    model: str,
    dataset: str,
    config: str | None = None,
    *,
    output: str | Path,
    languages: Sequence[str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Score a dataset's candidates with a model and return what results.json then holds.

    Scores go to `output`, one file a language, each written whole; a call that was interrupted
    goes on where it was when it is repeated, and gives the same files. What is scored is kept by
    content besides (`ScoreStore`), so that no run asks the same model the same again. Languages
    can be added to a run by naming them in a later call. With `scoring="xfactr"` a masked model
    fills the slot freely, and predictions stand where scores would.

    Args:
        model: an id on the Hub, a local folder, a GGUF file, or the embedded `geolm`.
        dataset: a folder, a name, or OWNER/NAME on the Hub (see `load_facts`).
        config: the dataset's configuration; None takes the default.
        output: the run folder.
        languages: split names; None takes every one.
        limit: the first N rows.
        sample: N rows spread over the relations, the same in every language.
        options: revision, device, dtype and so on, see `ModelOptions`; devices, ray and cache, see
            `WorkerChoices`; for `xfactr` also initial, refinement, beam and so on, see
            `DecodingOptions`.

    Raises:
        PolyprobeError: anything that the caller can mend, in one line.
    """
    asked: dict[str, Any] = dict(options)
    decoding, who = take_decoding(asked), take_workers(asked)
    tables = load_facts(dataset, config, languages)
    rows = choose_rows(next(iter(tables.values())), limit, sample)
    run = Run(output)
    if asked.get("batch_tokens") is None:
        asked["batch_tokens"] = run.budget(_absolute(model))
    loaded = load(model, **asked)
    check_askable(tables, loaded.scorer.scoring)
    with locked(run.folder):
        run.open(_settings(model, loaded, dataset, config, tables, limit, sample, decoding))
        kind = run.settings().kind
        as_rows = _as_asked(run, tables)
        missing = {language: as_rows[language].take(rows) for language in run.missing(tables, kind)}
        if decoding:
            fill_predictions(run, loaded.scorer, decoding, missing)
        elif missing:
            workers = choose_workers(who, run.settings().model, asked, loaded)
            del loaded  # where the work is done elsewhere its memory is needed there
            fill_scores(run, missing, open_store(run, who), workers)
        forget_own(run)
        return compute_results(run)


def _settings(
    model: str,
    loaded: Loaded,
    dataset: str,
    config: str | None,
    tables: dict[str, pa.Table],
    limit: int | None,
    sample: int | None,
    decoding: DecodingOptions | None,
) -> Settings:
    scorer = loaded.scorer
    scoring = decoding.name if decoding else scorer.scoring
    also = protocol_of(scoring).columns
    return Settings(
        model=_absolute(model),
        revision=loaded.revision,
        dataset=_absolute(dataset),
        config=config,
        fingerprint={x: fingerprint(table, also) for x, table in tables.items()},
        languages=list(tables),
        limit=limit,
        sample=sample,
        scoring=scoring,
        bos=scorer.bos,
        dtype=loaded.dtype,
        device=scorer.model.device.type,
        attention=str(scorer.model.config._attn_implementation or "eager"),
        path=scorer.path,
        batch_tokens=scorer.engine.batch_tokens,
    )


def _as_asked(run: Run, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the rows as the run's protocol asks them, by what its first language lists."""
    settings = run.settings()
    first = settings.languages[0]
    if protocol_of(settings.scoring).whole_relation and first not in tables:
        tables = load_facts(settings.dataset, settings.config, [first, *tables])
    return as_asked(tables, settings.scoring, first)


def _absolute(name: str) -> str:
    """Return a path that is there in full, so that a run is the same from any folder."""
    return str(Path(name).resolve()) if Path(name).exists() else name

"""Resolve what an evaluation is asked for: model, dataset, rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from polyprobe.eval.scoring.decoding import DecodingOptions
from polyprobe.eval.scoring.load import Loaded
from polyprobe.schema.identity import fingerprint
from polyprobe.schema.load import load_facts

from .protocol import as_asked, protocol_of
from .sample import choose_rows
from .settings import Settings


class Asked(NamedTuple):
    """Names, paths and rows of an evaluation, resolved once.

    Attributes:
        model, dataset: names; local paths are absolute, so that a run is the same from any folder.
        config: configuration of the dataset; None for its default.
        tables: the whole split of each language.
        rows: numbers of the rows to score.
        limit, sample: how the rows were chosen.
    """

    model: str
    dataset: str
    config: str | None
    tables: Mapping[str, pa.Table]
    rows: list[int]
    limit: int | None
    sample: int | None

    def describe(self, loaded: Loaded, decoding: DecodingOptions | None) -> Settings:
        """Return the settings of the run with a loaded model."""
        scorer = loaded.scorer
        scoring = decoding.name if decoding else scorer.scoring
        also = protocol_of(scoring).columns
        return Settings(
            model=self.model,
            revision=loaded.revision,
            dataset=self.dataset,
            config=self.config,
            fingerprint={x: fingerprint(table, also) for x, table in self.tables.items()},
            languages=list(self.tables),
            limit=self.limit,
            sample=self.sample,
            scoring=scoring,
            bos=scorer.bos,
            dtype=loaded.dtype,
            device=scorer.model.device.type,
            attention=str(scorer.model.config._attn_implementation or "eager"),
            path=scorer.path,
            batch_tokens=scorer.engine.batch_tokens,
        )

    def rows_as_asked(self, settings: Settings) -> dict[str, pa.Table]:
        """Return the splits as the run's protocol asks them, by the objects of its first language.

        That language is loaded where it was scored by an earlier call.
        """
        tables, first = dict(self.tables), settings.languages[0]
        if protocol_of(settings.scoring).whole_relation and first not in tables:
            tables = load_facts(settings.dataset, settings.config, [first, *tables])
        return as_asked(tables, settings.scoring, first)


def resolve(
    model: str,
    dataset: str,
    config: str | None,
    languages: Sequence[str] | None,
    limit: int | None,
    sample: int | None,
) -> Asked:
    """Load the dataset, choose its rows and resolve the paths; arguments as in `evaluate_model`."""
    tables = load_facts(dataset, config, languages)
    rows = choose_rows(next(iter(tables.values())), limit, sample)
    return Asked(_absolute(model), _absolute(dataset), config, tables, rows, limit, sample)


def _absolute(name: str) -> str:
    """Return the absolute path of an existing file or folder, any other name as it is."""
    return str(Path(name).resolve()) if Path(name).exists() else name

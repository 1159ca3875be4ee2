"""The dataset of a finished run, as it was scored."""

from collections.abc import Sequence

import pyarrow as pa

from polyprobe.schema.checks import COLUMNS
from polyprobe.schema.identity import fingerprint
from polyprobe.schema.load import IN_MEMORY, read_splits
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.settings import Settings
from polyprobe.system.errors import PolyprobeError


def load_again(settings: Settings, languages: Sequence[str]) -> dict[str, pa.Table]:
    """Read the splits that a run has scored; refuse a dataset that has changed since."""
    if settings.dataset == IN_MEMORY:
        raise PolyprobeError("the run's dataset was in memory, so it cannot be read again")
    also = protocol_of(settings.scoring).columns
    tables = read_splits(settings.dataset, settings.config, languages)
    for language, table in tables.items():
        complete = {*COLUMNS} <= {*table.column_names}  # equal rows were checked before the run
        if not complete or fingerprint(table, also) != settings.fingerprint[language]:
            raise PolyprobeError(
                f"'{language}' of {settings.data_name} has changed since the run was made; repeat "
                "the run, or restore the dataset"
            )
    return tables

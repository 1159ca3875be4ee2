"""mLAMA 1.1 as the Hub's dataset `cis-lmu/m_lama` (formerly `m_lama`), if LMU's server is down.

The dataset is a script, which `datasets` no longer runs. The Hub keeps its output as Parquet on the
branch `refs/convert/parquet`. It can regenerate the branch at any time, so the number of rows is
checked instead of a checksum. With a mirror, Parquet files are read from its folder
`cis-lmu__m_lama`. Format, ids, defects and repairs are those of `mlama`.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.builder.facts import Facts
from polyprobe.system.messages import PolyprobeError, one_line

from . import mlama

LICENCE = mlama.LICENCE
LANGUAGES = mlama.LANGUAGES
NAME = "cis-lmu/m_lama"
URL = f"https://huggingface.co/datasets/{NAME}"
REVISION = "refs/convert/parquet"
ROWS = 843_143


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the result of `mlama.read_facts`, from the Hub (HF_ENDPOINT) or a mirror's Parquet."""
    folder = download(revision=REVISION) if mirror is None else mirror / NAME.replace("/", "__")
    paths = sorted(path for path in folder.rglob("*.parquet") if path.is_file())
    if not paths:
        raise PolyprobeError(f"no Parquet of {NAME} in {folder}; take {URL}/tree/{REVISION}")
    try:
        table = pa.concat_tables(pq.read_table(path, partitioning=None) for path in paths)
    except (pa.ArrowInvalid, OSError) as error:
        text = f"{folder} holds Parquet that is cut short or corrupt: {error}"
        raise PolyprobeError(text) from error
    if table.num_rows != ROWS:
        raise PolyprobeError(f"{folder} holds {table.num_rows} rows of {NAME}, expected {ROWS}")
    return mlama.from_rows(table, languages)


def download(
    name: str = NAME, patterns: Sequence[str] = ("*.parquet",), revision: str | None = None
) -> Path:
    """Return the folder of huggingface_hub's cache with some files of a dataset."""
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            name, repo_type="dataset", revision=revision, allow_patterns=[*patterns]
        )
    except Exception as error:  # huggingface_hub's, httpx's or the disk's
        raise PolyprobeError(
            f"cannot download {name} from the Hub ({type(error).__name__}: {one_line(error)}); "
            + (f"try again, or take {mlama.URL}: source mlama" if name == NAME else "try again")
        ) from error
    return Path(folder)

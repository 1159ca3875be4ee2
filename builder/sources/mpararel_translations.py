"""The machine translations from which mParaRel was made, as released.

Five translators have one file for each language and relation, with one line for each of ParaRel's
English templates. Slots are damaged in many lines. The release names Chinese `zh` (simplified) and
`zh-classical` (traditional).
"""

import io
from pathlib import Path, PurePosixPath

import polars as pl

from polyprobe.system.download import Repository, read_folders, read_sums

from . import mpararel

ROOT = "data/translations"
REPOSITORY = Repository(
    name=mpararel.REPOSITORY.name,
    commit=mpararel.REPOSITORY.commit,
    sha256=read_sums(__package__, "mpararel_translations.sha256"),
)
FOLDERS = {"zh-hans": "zh", "zh-hant": "zh-classical"}
TRANSLATORS = ("bing", "google", "m2m100_big", "mbart50_en2m", "opus_mt")
TRANSLATIONS = dict.fromkeys(("translator", "relation", "pattern"), pl.String)


def read_translations(mirror: Path | None, language: str) -> pl.DataFrame:
    """Return TRANSLATIONS of a language: the lines of all translators that have it, in order."""
    name = FOLDERS.get(language, language)
    folders = {x: f"{ROOT}/pararel_{x}/{name}/" for x in TRANSLATORS}
    present = {x: folder for x, folder in folders.items() if folder in REPOSITORY.sha256}
    contents = read_folders(REPOSITORY, present.values(), mirror)
    parts = [
        pl.read_ndjson(io.BytesIO(content), schema={"pattern": pl.String}).select(
            translator=pl.lit(translator),
            relation=pl.lit(PurePosixPath(file).stem),
            pattern="pattern",
        )
        for translator, lines in zip(present, contents, strict=True)
        for file, content in lines.items()
    ]
    return pl.concat([pl.DataFrame(schema=TRANSLATIONS), *parts])

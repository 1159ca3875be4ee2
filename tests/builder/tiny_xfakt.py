"""Tables in the layout of X-FaKT's repository: a city and a lake for each of the 13 countries."""

import csv
from pathlib import Path

from babel import Locale

from polyprobe.builder.recipes.xfakt import FILES, NAMES


def write_xfakt(folder: Path, languages=tuple(FILES)) -> Path:
    """Write the tables into folder/results and return the folder."""
    (folder / "results").mkdir(parents=True)
    for language in languages:
        countries = [Locale(language).territories[iso] for iso in NAMES]
        with (folder / "results" / f"{FILES[language]}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["Question", "Predicted", "answers", "label"])
            for kind in ("cities", "lakes"):
                for iso, country in zip(NAMES, countries, strict=True):
                    table.writerow([f"{kind} {iso} ({language})?", "", country, kind])
    return folder

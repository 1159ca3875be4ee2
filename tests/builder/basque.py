"""A dozen facts in Basque. All labels are those of Wikidata, and of CLDR where it has them."""

import csv
import io
from pathlib import Path

SUBJECTS = {
    "Q1030": "Namibia", "Q183": "Alemania", "Q408": "Australia", "Q35": "Danimarka",
    "Q219": "Bulgaria", "Q40": "Austria", "Q41": "Grezia", "Q881": "Vietnam", "Q79": "Egipto",
    "Q33": "Finlandia", "Q1028": "Maroko", "Q17": "Japonia",
}  # fmt: skip
CONTINENTS = {"Q15": "Afrika", "Q46": "Europa", "Q48": "Asia", "Q51": "Antartika",
              "Q538": "Ozeania", "Q828": "Amerika"}  # fmt: skip
LABELS = SUBJECTS | CONTINENTS
TEMPLATE = "Herrialdea: [X]. Kontinentea: [Y]."  # of geofacts
FIVE = [  # questions as those of KLAR; all but the first are ours
    TEMPLATE,
    "[X] herrialdea [Y] kontinentean dago.",
    "Zein kontinentetan dago [X]? Erantzuna: [Y]",
    "Zein da herrialde honen kontinentea: [X]? Erantzuna: [Y]",
    "[X] non dago, zein kontinentetan? Erantzuna: [Y]",
]


def fill_sheet(file: Path, labels: dict[str, str], templates: dict[str, str | list[str]]) -> None:
    """Fill the cells of a sheet and of the templates beside it, as a contributor would."""
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    [column] = [name for name in rows[0] if name.startswith("label_")]
    for row in rows:
        row[column] = labels.get(row["id"], row[column])
    with file.open("w", encoding="utf-8-sig", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    toml = file.with_suffix(".toml")
    head, *parts = toml.read_text(encoding="utf-8").split("\n[")
    key = f"\n{column.removeprefix('label_')} = "
    for number, part in enumerate(parts):
        relation = part.partition("]")[0]
        if relation in templates:
            text = templates[relation]
            value = f'"{text}"' if isinstance(text, str) else str(text).replace("'", '"')
            before, _, after = part.partition(key)
            parts[number] = f"{before}{key}{value}\n{after.partition(chr(10))[2]}"
    head = head.replace('licence = "unknown"', 'licence = "cc0-1.0"')
    head = head.replace('contributor = ""', 'contributor = "Ane"')
    toml.write_text("\n[".join([head, *parts]), encoding="utf-8")

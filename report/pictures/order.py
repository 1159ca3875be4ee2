"""The order of languages in pictures and pages, and their labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from polyprobe.metrics.pictures.picture import Bars, Heat, Picture, Points, Series
from polyprobe.schema.languages import find_language, show_language
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import check_arguments

from . import ORDERS

_TRAITS = {"family": ("family", "branch", "name"), "script": ("script", "name")}


def order_languages(
    languages: Sequence[str], order: str, values: np.ndarray | None = None
) -> list[int]:
    """Order languages by family, script or `similarity`: list their places.

    Languages of a branch or a script are sorted by English name; those missing from
    `schema/languages.tsv` come last, as given. `similarity` needs values, [languages, languages].
    """
    assert order in ORDERS, order
    if order == "similarity":
        if values is None:
            raise PolyprobeError(
                "--order similarity requires a heat map of pairs of languages; choose another order"
            )
        return _order_by_similarity(values)
    listed = [find_language(code) for code in languages]
    if not any(listed):
        raise PolyprobeError(
            f"--order {order}: {', '.join(languages[:3])}, … are not known languages; omit --order"
        )
    traits = [[getattr(x, name) for name in _TRAITS[order]] if x else [] for x in listed]
    return sorted(range(len(languages)), key=lambda i: (not traits[i], traits[i]))


def _order_by_similarity(values: np.ndarray) -> list[int]:
    """Order languages by average linkage, similar languages side by side.

    The distance of two languages is the highest value minus their value. A pair with a value in
    each direction has the mean of both; a pair without a value has the lowest value. Clusters stay
    together; their order does not always minimise the distances of neighbours (scipy issue 11227).
    """
    filled = np.where(np.isnan(values), values.T, values)
    means = (filled + filled.T) / 2
    similarities = means[np.triu_indices(len(values), 1)]
    defined = similarities[~np.isnan(similarities)]
    if len(values) < 3 or not len(defined):
        return [*range(len(values))]
    distances = defined.max() - np.nan_to_num(similarities, nan=defined.min())
    order: list[int] = leaves_list(linkage(distances, "average", optimal_ordering=True)).tolist()
    return order


@check_arguments
def arrange(picture: Picture, order: str) -> Picture:
    """Put the languages of a picture in an order.

    Raises:
        PolyprobeError: the picture has no languages or, for `similarity`, no pairs of languages.
    """
    if order == "given":
        return picture
    if isinstance(picture, Points):
        kind = "chart of curves" if picture.curves else "scatter plot"
        raise PolyprobeError(f"--order {order}: a {kind} has no order of languages; omit --order")
    if isinstance(picture, Bars):
        places = order_languages(picture.labels, order)
        labels = [picture.labels[i] for i in places]
        series = []
        for name, *lists in picture.series:  # optional ones are empty
            ordered: list[Any] = [[x[i] for i in places] if x else () for x in lists]
            series.append(Series(name, *ordered))
        return picture._replace(labels=labels, series=series)
    if list(picture.rows) != list(picture.columns):
        rows, columns = (order_languages(x, order) for x in (picture.rows, picture.columns))
        return _arrange_heat(picture, rows, columns)
    matrix = picture.values if picture.similar is None else picture.similar
    places = order_languages(picture.rows, order, matrix)
    return _arrange_heat(picture, places, places)


def _arrange_heat(heat: Heat, rows: Sequence[int], columns: Sequence[int]) -> Heat:
    cells: Any = np.ix_(rows, columns)
    return heat._replace(
        rows=[heat.rows[i] for i in rows],
        columns=[heat.columns[j] for j in columns],
        values=heat.values[cells],
        similar=None if heat.similar is None else heat.similar[cells],
        squares={
            name: [(rows.index(i), columns.index(j)) for i, j in cells_of_square]
            for name, cells_of_square in heat.squares.items()
        },
        details={(rows.index(i), columns.index(j)): text for (i, j), text in heat.details.items()},
    )


def name_labels(labels: Sequence[str]) -> list[str]:
    """Write labels with English names of languages and pairs; a code follows equal names.

    Args:
        labels: languages as `en` or `zh_hant`, pairs as `en-fr`; other labels stay.

    >>> name_labels(["el", "en-fr", "en", "en_old", "P17"])
    ['Greek', 'English – French', 'English (en)', 'English (en_old)', 'P17']
    """
    names = []
    for label in labels:
        parts = label.split("-")
        is_pair = len(parts) == 2 and all(map(find_language, parts))
        names.append(" – ".join(map(show_language, parts if is_pair else [label])))
    return [
        f"{name} ({label})" if names.count(name) > 1 and name != label else name
        for name, label in zip(names, labels, strict=True)
    ]


def name_picture(picture: Picture) -> dict[str, str]:
    """Map the labels of a picture to their names."""
    if isinstance(picture, Heat):
        labels = [*picture.rows, *picture.columns]
    elif isinstance(picture, Points):
        labels = [point.label for point in picture.points]
    else:
        labels = [*picture.labels]
    labels = list(dict.fromkeys(labels))
    return dict(zip(labels, name_labels(labels), strict=True))

"""Accept the input of a metric in any container, and check it before evaluate converts it.

>>> unpack(np.array([[0, 2], [1]], dtype=object))
[[0, 2], [1]]
>>> unpack(np.float32(0.5)), unpack((np.int64(1), "P36"))
(0.5, (1, 'P36'))
"""

import inspect
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar

import datasets
import evaluate
import numpy as np

RESAMPLING = ("groups", "average", "n_resamples", "seed", "clusters", "empty")
"""The options that every metric has: the fields of `intervals.Resampling`."""
USAGE = {
    "{resampling}": """\
    groups (list, optional): label of each query, usually its relation.
    average (str): macro (default), the unweighted mean over groups, or micro, over queries.
    n_resamples (int): resamples of the bootstrap over queries; default: 10000, or 1000
        above 50,000 values (queries x figures); below 40: no intervals.
    seed (int): of the bootstrap; default: 0.
    clusters (list, optional): label of each query, such as its subject; the bootstrap draws whole
        clusters. Queries about one subject should be drawn together.""",
    "{intervals}": """\
    NAME_ci (list of float or None): 95% bootstrap interval of each; None for a single query.
    by_group (dict): the same for each group, if `groups` is given.""",
    "{scores}": """\
    predictions (list of list of float): one row for each query with one score for each candidate;
        higher is better.""",
}
"""What several metrics say: it replaces the names in the docstrings of their modules."""
SCORE, INDEX = datasets.Value("float64"), datasets.Value("int64")
# Not "string": evaluate refuses a batch of strings whose first entry is None.
TEXT = datasets.Value("large_string")
SCORES, INDICES, TEXTS = (datasets.Sequence(value) for value in (SCORE, INDEX, TEXT))
ARGUMENTS = frozenset(
    {
        *RESAMPLING,
        *("answers", "donor_answers", "donor_predictions", "donor_references", "k", "language"),
        *("languages", "log", "match", "n_candidates", "names", "p", "predictions", "prompts"),
        *("digits", "questions", "references", "single_token", "subjects", "ties", "weights"),
    }
)
"""The arguments of all metrics of polyprobe: `evaluate.combine` passes each to every metric."""

_LABELS = ("groups", "clusters", "subjects")
_PLAIN = frozenset({str, int, float, bool, type(None)})
# Of an entry and of a list; other columns have texts.
_EXPECTED = {"float64": ("a number", "numbers"), "int64": ("an index from 0", "indices")}
_LARGEST, _FURTHEST = 2**1023, 2**63  # integers that fit into float64, int64
# Citations, in BibTeX, of papers from which several metrics come.
JIANG_2020 = """\
@inproceedings{jiang-etal-2020-x,
    title = "{X}-{FACTR}: Multilingual Factual Knowledge Retrieval from Pretrained Language Models",
    author = "Jiang, Zhengbao and Anastasopoulos, Antonios and Araki, Jun and Ding, Haibo and
      Neubig, Graham",
    booktitle = "Proceedings of EMNLP", year = "2020",
    url = "https://aclanthology.org/2020.emnlp-main.479",
}
"""

QI_2023 = """\
@inproceedings{qi-etal-2023-cross,
    title = "Cross-Lingual Consistency of Factual Knowledge in Multilingual Language Models",
    author = "Qi, Jirui and Fern{\\'a}ndez, Raquel and Bisazza, Arianna",
    booktitle = "Proceedings of EMNLP", year = "2023",
    url = "https://aclanthology.org/2023.emnlp-main.658",
}
"""

SEMENOV_2025 = """\
@article{semenov-sennrich-2025-measuring,
    title = "Measuring the Effect of Disfluency in Multilingual Knowledge Probing Benchmarks",
    author = "Semenov, Kirill and Sennrich, Rico",
    journal = "arXiv preprint arXiv:2510.15115", year = "2025",
    url = "https://arxiv.org/abs/2510.15115",
}
"""


class Module(evaluate.Metric, ABC):  # abstract: `evaluate.load` takes the first class that is not
    """A metric that checks its arguments and accepts the containers of `unpack`.

    The docstring of its module is the description and, from the second paragraph on, the usage.
    Options can be given to `evaluate.load` too, as defaults of `compute`. An argument that only
    other metrics of polyprobe have is ignored with a warning, so that metrics can be combined.
    """

    columns: ClassVar[Mapping[str, Any]]  # of a query, and their types
    texts: ClassVar[Mapping[str, Any]] = {}  # the same if the predictions are texts
    citation: ClassVar[str] = ""  # BibTeX
    # Whether `references` are the indices of correct candidates: `answers` then are another name
    # for them, which counts if both are given, and a row can be one index.
    gold: ClassVar[bool] = False
    optional: ClassVar[Collection[str]] = ()  # columns that may be missing
    nullable: ClassVar[Collection[str]] = ()  # columns whose entries may be None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # evaluate would call accuracy_at_1 accuracy_at1
        self._module_info.module_name = type(self).__module__.rpartition(".")[2]
        of_evaluate = inspect.signature(evaluate.EvaluationModule.__init__).parameters
        names = self._list_options()
        self._defaults = {name: unpack(x) for name, x in options.items() if name in names}
        for name in options.keys() - of_evaluate - self._defaults.keys():
            self._refuse(name, names)

    @staticmethod
    @abstractmethod
    def measure(*columns: Any, **options: Any) -> dict[str, Any]:
        """Compute the result from the columns and options."""

    def _info(self) -> evaluate.MetricInfo:
        text = sys.modules[type(self).__module__].__doc__ or ""
        for name, usage in USAGE.items():
            text = text.replace(name, usage)
        description, _, usage = text.partition("\n\n")
        features = datasets.Features(dict(self.columns))
        description = " ".join(description.split()) + "\n"
        return evaluate.MetricInfo(description, self.citation, features, f"\n{usage}")

    def compute(
        self, *, predictions: Any = None, references: Any = None, **arguments: Any
    ) -> dict[str, Any] | None:
        """Compute the figures of the given queries, or of those added before."""
        inputs = {"predictions": predictions, "references": references, **arguments}
        columns = self._take_columns(inputs)
        names = self._list_options()
        options = {name: unpack(value) for name, value in inputs.items() if name in names}
        for name in (x for x in inputs if x not in options and x not in columns):
            if name not in ARGUMENTS:
                self._refuse(name, [*self.features, *names])
            if inputs[name] is not None and not (self.gold and name == "answers"):
                text = f"{self.name} ignores {name!r}, an argument of other metrics"
                warnings.warn(text, stacklevel=2)
        settings = {**self._defaults, **options}
        for name in _LABELS:
            _check_labels(settings.get(name), name)
        seed = settings.get("seed", 0)
        if type(seed) is not int or seed < 0:
            raise ValueError(f"seed is {_show(seed)}; expected an integer from 0")
        if self.writer is None and all(column is None for column in columns.values()):
            raise ValueError(f"no queries: pass {'=…, '.join(columns)}=…")
        return super().compute(**columns, **options)

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, **arguments: Any
    ) -> None:
        """Add queries: one entry of each column for each query."""
        inputs = {"predictions": predictions, "references": references, **arguments}
        if self.texts and self.writer is None:
            first = unpack(predictions)
            while isinstance(first, list | tuple) and first:
                first = first[0]
            columns = self.texts if isinstance(first, str) else self.columns
            self._module_info.features = datasets.Features(dict(columns))
        for name in arguments:
            if name not in self.features and not (self.gold and name == "answers"):
                self._refuse(name, [*self.features])
        columns = {
            name: self._read(column, name) for name, column in self._take_columns(inputs).items()
        }
        size = len(columns["predictions"])
        for name, column in columns.items():
            # evaluate wants all columns in each batch.
            columns[name] = [None] * size if column is None else column
            if len(columns[name]) != size:
                raise ValueError(f"{size} queries in 'predictions', {len(column)} in {name!r}")
        super().add_batch(**columns)

    def add(self, *, prediction: Any = None, reference: Any = None, **arguments: Any) -> None:
        """Add one query."""
        row = {"predictions": prediction, "references": reference, **arguments}
        batch = {name: [x] for name, x in row.items() if name in self.features or x is not None}
        self.add_batch(**batch)

    def _compute(self, **inputs: Any) -> dict[str, Any]:
        for name in self.optional:
            inputs[name] = None if all(row is None for row in inputs[name]) else inputs[name]
        return type(self).measure(**{**self._defaults, **inputs})

    def _list_options(self) -> list[str]:
        """List the parameters of `measure`; `**options` are those of resampling."""
        names: list[str] = []
        for x in inspect.signature(type(self).measure).parameters.values():
            names += RESAMPLING if x.kind is x.VAR_KEYWORD else [x.name]
        return [name for name in dict.fromkeys(names) if name not in self.features]

    def _take_columns(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Take the columns, None for a missing one; `answers` go before `references`."""
        columns = {name: inputs.get(name) for name in self.features}
        if self.gold and inputs.get("answers") is not None:
            columns["references"] = inputs["answers"]
        return columns

    def _refuse(self, name: str, names: Sequence[str]) -> None:
        matches = get_close_matches(name, names, 1)
        hint = f"did you mean {matches[0]!r}? " if matches else ""
        text = f"unknown argument {name!r} of {self.name}; {hint}known: {', '.join(names)}"
        raise ValueError(text)

    def _read(self, column: Any, name: str) -> Any:
        """Read a column as evaluate can convert it; raise ValueError for other entries."""
        if column is None and name in self.optional:
            return None
        feature = self.features[name]
        nested = hasattr(feature, "feature")
        kind = (feature.feature if nested else feature).dtype
        plain = isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray)
        if plain and kind == "float64" and column.ndim == 1 + nested and column.dtype.kind in "iuf":
            return np.asarray(column, dtype=np.float64)
        column = _list(unpack(column), repr(name), "a list with an entry for each query")
        expected, several = _EXPECTED.get(kind, ("a text", "texts"))
        expected += " or None" if name in self.nullable else ""
        entries: list[Any] = []
        for query, entry in enumerate(column):
            place = f"query {query} of {name!r}"
            if entry is None and name in (*self.nullable, *self.optional):
                entries.append(None)
            elif not nested:
                entries.append(_read_value(entry, kind, f"{place} is {{}}; expected {expected}"))
            else:
                kinds = {int, str} if kind == TEXT.dtype else {int}
                single = self.gold and name == "references" and type(entry) in kinds
                values = _list([entry] if single else entry, place, f"a list of {several}")
                fault = f"{{}} in {place}; expected {expected}"
                entries.append([_read_value(value, kind, fault) for value in values])
        return entries


def unpack(value: Any) -> Any:
    """Turn a container into lists and tuples, and a scalar into Python's own."""
    # Containers are those of Python, numpy, pandas, pyarrow, datasets and torch. The masked values
    # at the end of a row of a masked array, which pad rows of different lengths, are left out.
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ma.MaskedArray) and value.ndim == 2:
        sizes = [max(np.flatnonzero(row) + 1, default=0) for row in ~np.ma.getmaskarray(value)]
        return [row[:size] for row, size in zip(value.tolist(), sizes, strict=True)]
    if hasattr(value, "iloc") and value.ndim == 2:  # a DataFrame
        value = value.to_numpy()
    elif hasattr(value, "iloc") and value.dtype.kind not in "iuf":  # a Series of texts or lists
        return [None if gap else unpack(x) for x, gap in zip(value, value.isna(), strict=True)]
    for method in ("to_pylist", "as_py", "tolist"):
        if hasattr(value, method):
            value = getattr(value, method)()
            break
    if isinstance(value, tuple):
        return tuple(map(unpack, value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [x if type(x) in _PLAIN else unpack(x) for x in value]
    return value


def _list(value: Any, place: str, expected: str) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{place} is {_show(value)}; expected {expected}")
    return value


def _read_value(value: Any, kind: str, fault: str) -> Any:
    """Read a value of a column; raise ValueError with the text `fault` for other types."""
    if kind == "float64":
        valid = type(value) is float or (type(value) is int and abs(value) < _LARGEST)
    elif kind == "int64":
        valid = type(value) is int and abs(value) < _FURTHEST
    else:
        valid = isinstance(value, str)
    if not valid:
        raise ValueError(fault.format(_show(value)))
    return float(value) if kind == "float64" else value


def _check_labels(labels: Any, name: str) -> None:
    """Raise ValueError unless labels are None or a list of hashable values without NaN."""
    if labels is None:
        return
    _list(labels, repr(name), "a list with a label for each query")
    for query, label in enumerate(labels):
        try:
            hash(label)
            defined = label == label  # NaN is not
        except TypeError:
            defined = False
        if not defined:
            text = f"query {query} of {name!r} is {_show(label)}; expected a text or a number"
            raise ValueError(text)


def _show(value: Any) -> str:
    # on one line of an error
    return " ".join(f"{value!r:.80}".split())

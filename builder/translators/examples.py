"""Translated sentences that a language model is shown before it translates."""

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.system.errors import PolyprobeError

ALL = "all"  # section of the relations without one of their own
LIMIT = 20  # as many as Fluent-mLAMA's prompts have (appendix A)


class Example(NamedTuple):
    """A sentence with a good translation; `terms` are {source label: target label}."""

    sentence: str
    terms: Mapping[str, str]
    translation: str


class ExampleFile(NamedTuple):
    """The examples of a file."""

    file: Path
    hash: str  # SHA-256
    sections: dict[str, dict[str, tuple[Example, ...]]]  # language → relation or `all` → examples

    def check(self, language: str) -> None:
        """Refuse a language without a section."""
        if language not in self.sections:
            languages = ", ".join(self.sections) or "none"
            raise PolyprobeError(
                f"{self.file} has no examples for {language!r}; it has {languages}"
            )

    def choose(self, language: str, relation: str | None) -> tuple[Example, ...]:
        """Return the examples of a relation, else those of `all`; PolyprobeError without both."""
        self.check(language)
        section = self.sections[language]
        for name in (relation, ALL):
            if name in section:
                return section[name]
        heading = f"[[{language}.{relation}]] or " if relation else ""
        raise PolyprobeError(
            f"{self.file} has no {heading}[[{language}.{ALL}]]; add one, or `{ALL} = []` under "
            f"[{language}] to translate without examples"
        )


def read_example_file(file: Path) -> ExampleFile:
    """Return the examples of a TOML file (`_explain` states its form; `terms` may be left out)."""
    try:
        content = file.read_bytes()
        tables = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise PolyprobeError(f"cannot read examples={file}: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise PolyprobeError(f"examples={file} is not TOML: {error}") from error
    sections = {
        language: {
            relation: _read_section(file, f"{language}.{relation}", rows)
            for relation, rows in _check(file, language, parts, dict).items()
        }
        for language, parts in tables.items()
    }
    return ExampleFile(file, hashlib.sha256(content).hexdigest(), sections)


def _read_section(file: Path, name: str, rows: Any) -> tuple[Example, ...]:
    rows = _check(file, name, rows, list)
    if len(rows) > LIMIT:
        raise PolyprobeError(
            f"{file}: [[{name}]] has {len(rows)} examples; expected {LIMIT} at most"
        )
    return tuple(_read_example(file, f"{name}, example {n}", row) for n, row in enumerate(rows, 1))


def _read_example(file: Path, name: str, row: Any) -> Example:
    row = _check(file, name, row, dict)
    terms = _check(file, name, row.get("terms", {}), dict)
    texts = [row.get("sentence"), row.get("translation")]
    good = all(isinstance(x, str) and x.strip() for x in (*texts, *terms, *terms.values()))
    if not good or row.keys() - {*Example._fields}:
        raise _explain(file, name)
    return Example(texts[0], terms, texts[1])


def _check(file: Path, name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise _explain(file, name)
    return value


def _explain(file: Path, name: str) -> PolyprobeError:
    return PolyprobeError(
        f"{file}: {name}: expected [[LANGUAGE.RELATION]] or [[LANGUAGE.{ALL}]] with sentence, "
        'translation and, if any, terms = { "London" = "Londres" }'
    )

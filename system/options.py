"""Options declared once, as fields of frozen dataclasses, and values of annotated types."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, Self, TypeVar, cast, get_args, get_origin

from .messages import PolyprobeError, check_option, quote, refuse_unknown

LARGEST = 10**9  # the largest number of an option that declares none
Function = TypeVar("Function", bound=Callable[..., Any])
# Types as messages name them.
_KINDS = {bool: "True or False", int: "a whole number", float: "a finite number", str: "a text"}
_KINDS |= {Path: "a path", Mapping: "a dictionary", type(None): "None"}
_KINDS |= dict.fromkeys((Sequence, Iterable, list, tuple), "a list")


def check_arguments(function: Function) -> Function:
    """Give a public function values of the annotated types; refuse others, see `convert_value`."""
    head = signature(function)
    several = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        bound = head.bind(*arguments, **keywords)
        for name, value in bound.arguments.items():
            part = head.parameters[name]
            if part.kind not in several and value is not part.default:
                bound.arguments[name] = convert_value(name, value, part.annotation)
        return function(*bound.args, **bound.kwargs)

    return cast("Function", call)


def convert_value(name: str, value: Any, annotation: Any) -> Any:
    """Return the value as the annotated type: numbers of numpy, lists and paths are converted."""
    kinds = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    for kind in kinds:
        try:
            return _convert_to(kind, value)
        except (TypeError, ValueError):
            continue
    expected = " or ".join(dict.fromkeys(map(_name, kinds)))
    if isinstance(value, str) and str in kinds:
        expected = "a text without lone surrogates"
    raise PolyprobeError(f"{name} must be {expected}, got {quote(value)}")


def _name(kind: Any) -> str:
    name = _KINDS.get(get_origin(kind) or kind) or f"a {getattr(kind, '__name__', kind)}"
    inner = get_args(kind)[0] if name == "a list" else None
    return f"{name} of {_KINDS[inner].removeprefix('a ')}s" if inner in (str, Path) else name


def _convert_to(kind: Any, value: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (str, Path) and isinstance(value, str | os.PathLike):
        text = os.fsdecode(value)
        if kind is str and text.encode() is not None:  # a lone surrogate is no text
            return text
        if "\0" not in text and os.fsencode(text) is not None:
            return Path(text)
    elif kind is int and isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    elif kind is float and isinstance(value, Real) and not isinstance(value, bool):
        if isfinite(value):
            return float(value)
    elif origin in (tuple, list, Sequence, Iterable):
        is_set = isinstance(value, Set) and origin is not Iterable  # it has no order
        if not (is_set or isinstance(value, str | bytes | Mapping)):
            items = [_convert_to(inner[0], item) for item in value]
            return items if origin is list else tuple(items)
    elif isinstance(kind, str):  # the name of a type that is not imported
        if not kind.isidentifier() or kind in [x.__name__ for x in type(value).__mro__]:
            return value
    elif kind is Any or not isinstance(origin or kind, type):
        return value
    elif kind not in (str, Path, int, float) and isinstance(value, origin or kind):
        if origin is Mapping:
            for item in value.values():
                _convert_to(inner[1], item)
        return value
    raise TypeError


class Declaration(NamedTuple):
    """What is declared of an option beside its name, type and default."""

    help: str  # a sentence for `--help` and the documentation
    panel: str = ""  # the part of `--help` that lists it; the first part if empty
    choices: Collection[str] = ()  # the allowed values; any if there are none
    minimum: int | None = None  # the smallest allowed number
    maximum: int = LARGEST  # the largest allowed number
    check: Callable[[Any], None] | None = None  # refuses a wrong value; not called with None
    # Makes the value of the texts of a repeatable option on the command line.
    parse: Callable[[list[str]], Any] | None = None
    flag: str = ""  # how messages and the command line name it, if not by its own name
    metavar: str | None = None  # its value in `--help`
    local: bool = False  # only for models in this process, not for served ones
    signed: bool = False  # a value other than the default is part of a run's signature
    needs: str = ""  # an option without which it has no effect: `--chat`, `--scoring letters`
    excludes: str = ""  # the flag of an option that must not be given too

    def refuse(self, value: Any) -> None:
        """Refuse a value that is not allowed."""
        if self.choices:
            check_option(self.flag, value, self.choices)
        if self.minimum is not None and not self.minimum <= value <= self.maximum:
            limits = f"{self.minimum} to {self.maximum}"
            if value < self.minimum and self.maximum == LARGEST:
                limits = f"at least {self.minimum}"
            raise PolyprobeError(f"{self.flag} must be {limits}, got {value!r}")
        if self.check:
            self.check(value)


def option(default: Any, text: str, **declaration: Any) -> Any:
    """Make the field of an option; see `Declaration` for the declaration."""
    return field(default=default, metadata={"option": Declaration(text, **declaration)})


@dataclass(frozen=True)
class Options:
    """A group of options, whose values are checked when it is made."""

    def __post_init__(self) -> None:
        declared = collect_options(type(self))
        for part in fields(self):
            declaration = declared.get(part.name, Declaration("", flag=part.name))
            value = convert_value(declaration.flag, getattr(self, part.name), part.type)
            object.__setattr__(self, part.name, value)
            if value is not None:
                declaration.refuse(value)
        self.check()

    @property
    def signature_parts(self) -> dict[str, str]:
        """Return the options that the signature names when they are not the default."""
        signed = {name for name, x in collect_options(type(self)).items() if x.signed}
        changed = [x.name for x in fields(self) if getattr(self, x.name) != x.default]
        return {name: str(getattr(self, name)) for name in changed if name in signed}

    def check(self) -> None:
        """Refuse an option without the one that it needs, or beside one that it excludes."""
        declared = collect_options(type(self))
        values = {declared[x].flag: getattr(self, x) for x in declared}
        changed = {  # a value of another type may not be comparable, such as an array
            declared[x.name].flag
            for x in fields(self)
            if x.name in declared
            and (type(value := getattr(self, x.name)), value) != (type(x.default), x.default)
        }
        for flag, declaration in ((x.flag, x) for x in declared.values() if x.flag in changed):
            if declaration.excludes in changed:
                text = f"{declaration.excludes} and {flag} were both given; choose one"
                raise PolyprobeError(text)
            needs, _, value = declaration.needs.partition(" ")
            # a word in capitals, such as FILE, stands for any value
            met = needs in changed and value in ("", value.upper(), values[needs])
            if needs in values and not met:
                text = f"{flag} is for {declaration.needs}; add that, or leave {flag} out"
                raise PolyprobeError(text)

    @classmethod
    def from_keywords(cls, keywords: Mapping[str, Any], function: Callable[..., Any]) -> Self:
        """Make the options of the keywords of a function with this signature."""
        check_keywords(keywords, function)
        return cls(**keywords)


def check_keywords(keywords: Iterable[str], function: Callable[..., Any]) -> None:
    """Refuse a keyword that is no argument of a function, with the nearest name."""
    names = signature(function).parameters
    refuse_unknown("argument", keywords, f"{function.__qualname__}()", names)


def collect_options(group: type[Options]) -> dict[str, Declaration]:
    """Collect the options of a group by name; a flag is `--name` unless another is declared."""
    declared = {x.name: x.metadata["option"] for x in fields(group) if "option" in x.metadata}
    return {
        name: declaration._replace(flag=declaration.flag or f"--{name.replace('_', '-')}")
        for name, declaration in declared.items()
    }


def spell_options(
    group: Options, usual: Collection[str] = (), repeated: Collection[str] = ()
) -> list[str]:
    """Write the words of a command line that give the options of a group their values.

    Args:
        group: options with their values; its other fields are not options.
        usual: options that are left out if they have their default. The others are spelled out,
            since a later version may have another default; only empty ones are left out.
        repeated: options whose texts are given one by one, not joined by commas.
    """
    words, declared = [], collect_options(type(group))
    for name, default in ((x.name, x.default) for x in fields(group) if x.name in declared):
        value, flag = getattr(group, name), declared[name].flag
        if value in (None, "", ()) or (name in usual and value == default):
            continue
        if name in repeated:
            words += [word for text in value for word in (flag, text)]
        else:
            texts = value if isinstance(value, tuple) else [value]
            words += [flag, ",".join(f"{x:g}" if isinstance(x, float) else str(x) for x in texts)]
    return words


def with_keywords(group: type[Options]) -> Callable[[Function], Function]:
    """Give a function the signature with all options that it takes as keywords."""

    def change(function: Function) -> Function:
        parts = signature(function).parameters.values()
        more = [Parameter(x.name, Parameter.KEYWORD_ONLY, default=x.default) for x in fields(group)]
        parameters = [part for part in parts if part.kind is not Parameter.VAR_KEYWORD]
        function.__signature__ = Signature([*parameters, *more])  # type: ignore[attr-defined]
        return function

    return change

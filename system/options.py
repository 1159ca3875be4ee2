"""Options declared once: each is a field of a frozen dataclass, with default, help and check."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, Self

from .arguments import Function, convert_value
from .errors import PolyprobeError, check_option, refuse_unknown

LARGEST = 10**9  # the largest number of an option that declares none


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

    def check(self) -> None:
        """Refuse values that exclude each other."""

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
        options = [
            Parameter(x.name, Parameter.KEYWORD_ONLY, default=x.default) for x in fields(group)
        ]
        parameters = [part for part in parts if part.kind is not Parameter.VAR_KEYWORD]
        function.__signature__ = Signature([*parameters, *options])  # type: ignore[attr-defined]
        return function

    return change

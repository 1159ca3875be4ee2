"""Our datasets' language codes as the engines write them, by CLDR's tables."""

from collections.abc import Collection, Iterator
from functools import cache

from polyprobe.system.errors import PolyprobeError

# CLDR keeps these apart where engines and Wikipedia, whose codes ours are, do not.
SAME = {"no": ("nb",), "nb": ("no",)}
SCRIPTS = {"kore": "hang"}


def check_pair(engine: str, source: str, target: str, known: Collection[str]) -> tuple[str, str]:
    """Return an engine's codes of two languages of ours.

    Raises:
        PolyprobeError: the engine does not know one of them; all that it knows are listed.
    """
    codes = match(source, known), match(target, known)
    for ours, its in zip((source, target), codes, strict=True):
        if its is None:
            raise PolyprobeError(
                f"{engine} does not translate from {source} to {target}: it has no {ours!r}; "
                f"available: {', '.join(sorted(known))}"
            )
    return str(codes[0]), str(codes[1])


def match(code: str, known: Collection[str]) -> str | None:
    """Return an engine's code of a language, None where it has none.

    Case, `-` and `_` do not matter. Of several spellings the nearest to ours is taken; Chinese
    without a script is simplified, and a script that was asked for is never exchanged.

    >>> match("zh", ["zh-cn", "zh-tw"]), match("he", ["iw"]), match("sr", ["srp_Cyrl", "srp_Latn"])
    ('zh-cn', 'iw', 'srp_Cyrl')
    """
    its = {_plain(other): other for other in sorted(known, reverse=True)}
    return next((its[spelling] for spelling in spell(code) if spelling in its), None)


def spell(code: str) -> Iterator[str]:
    """Yield the ways to write a language's code, lower case with `-`, the nearest to ours first.

    >>> list(spell("zh-hant"))[:3]
    ['zh-hant', 'zh-tw', 'zh-hant-tw']
    """
    code = _plain(code)
    language, _, rest = code.partition("-")
    script, region = _likely(code)
    parts = [script, SCRIPTS.get(script, ""), region, f"{script}-{region}"]
    whole = not rest or rest == _likely(language)[0]
    spellings = [code]
    for name in _names(language):
        spellings += [name] if whole else []
        spellings += [f"{name}-{part}" for part in parts if part.strip("-")]
    yield from dict.fromkeys(spellings)


def _plain(code: str) -> str:
    return code.replace("_", "-").lower()


def _names(language: str) -> list[str]:
    """Return the codes of one language: of two letters, of three, those that are out of use."""
    aliases = _aliases()
    current = aliases.get(language, language)
    names = {language: None, current: None} | dict.fromkeys(SAME.get(language, ()))
    others = [old for old, new in sorted(aliases.items()) if new in names]
    return [*names, *(other for other in others if other not in names)]


@cache
def _aliases() -> dict[str, str]:
    """Return CLDR's {code: code now in use}, those alone that change nothing but the language."""
    from babel.core import get_global

    return {old: new for old, new in get_global("language_aliases").items() if "_" not in old + new}


def _likely(code: str) -> tuple[str, str]:
    """Return the script and the region that CLDR expects of a code, "" where it does not know."""
    from babel.core import get_global

    language, _, rest = code.partition("-")
    asked = f"{language}_{rest.title()}" if rest else language
    parts = get_global("likely_subtags").get(asked, "").lower().split("_")
    return (parts[1], parts[2]) if len(parts) == 3 else (rest, "")


def current(code: str) -> str:
    """Return the code of two letters for one of three, the code itself where there is none.

    >>> current("bre"), current("fil"), current("zh-cn")
    ('br', 'fil', 'zh-cn')
    """
    shorter = _aliases().get(code, code)
    return shorter if len(shorter) < len(code) else code


def name_language(code: str) -> str:
    """Return a language's English name.

    Raises:
        PolyprobeError: CLDR has no name for it.

    >>> name_language("zh-hans"), name_language("ceb")
    ('Simplified Chinese', 'Cebuano')
    """
    from babel import Locale

    names = Locale("en").languages
    language, _, rest = code.replace("-", "_").partition("_")
    for asked in (f"{language}_{rest.title()}", f"{language}_{rest.upper()}", language):
        if asked in names:
            return str(names[asked])
    raise PolyprobeError(
        f"no English name for the language {code!r}; expected a code such as es or zh-hans"
    )

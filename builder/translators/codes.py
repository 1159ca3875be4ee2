"""Match the language codes of datasets with the codes of a translator."""

from collections.abc import Collection

from langcodes import closest_supported_match, standardize_tag

from polyprobe.system.messages import PolyprobeError

SAME_LANGUAGE = 1  # the greatest distance in langcodes between two codes of one language: no, nb
# Scripts that langcodes does not assume by itself.
SCRIPTS = {"ko": "Hang"} | dict.fromkeys(("acm", "acq", "azb", "pbt"), "Arab")


def check_pair(name: str, source: str, target: str, available: Collection[str]) -> tuple[str, str]:
    """Return a translator's codes of two languages; PolyprobeError lists those it has."""
    codes = []
    for language in (source, target):
        if (code := match_code(language, available)) is None:
            raise PolyprobeError(
                f"{name} does not translate from {source} to {target}: it has no {language!r}; "
                f"available: {', '.join(sorted(available))}"
            )
        codes.append(code)
    return codes[0], codes[1]


def match_code(code: str, available: Collection[str]) -> str | None:
    """Return a translator's code of a language, or None.

    >>> match_code("zh", ["zh-cn", "zh-tw"]), match_code("he", ["iw"])
    ('zh-cn', 'iw')
    >>> match_code("sr", ["srp_Cyrl", "srp_Latn"])
    'srp_Cyrl'
    """
    if code in available:
        return code
    if not (standard := _standardize(code)):
        return None
    standards = {name: _standardize(name) for name in available}
    # Of equally close ones an equal standard code comes first, then the shortest.
    names = sorted(available, key=lambda name: (standards[name] != standard, len(name), name))
    tags = [name for name in names if standards[name]]
    closest = closest_supported_match(standard, tags, SAME_LANGUAGE)
    if not closest and standard in SCRIPTS:
        closest = closest_supported_match(f"{standard}-{SCRIPTS[standard]}", tags, SAME_LANGUAGE)
    return closest


def current(code: str) -> str:
    """Return the two-letter code for a three-letter code, or the code itself if there is none.

    >>> current("bre"), current("fil"), current("zh-cn")
    ('br', 'fil', 'zh-cn')
    """
    standard = _standardize(code)
    return standard if 0 < len(standard) < len(code) else code


def name_language(code: str) -> str:
    """Return a language's English name in CLDR; it is part of prompts, and so of signatures.

    >>> name_language("zh-hans"), name_language("ceb")
    ('Simplified Chinese', 'Cebuano')
    """
    from babel import Locale

    names = Locale("en").languages
    language, _, rest = code.replace("-", "_").partition("_")
    for tag in (f"{language}_{rest.title()}", f"{language}_{rest.upper()}", language):
        if tag in names:
            return str(names[tag])
    text = f"no English name for the language {code!r}; expected a code such as es or zh-hans"
    raise PolyprobeError(text)


def _standardize(code: str) -> str:
    """Return the standard code (BCP 47), "" if the text is not a language code."""
    try:
        return standardize_tag(code)
    except ValueError:
        return ""

"""The languages of a translation model, from its vocabulary.

`spa_Latn` (NLLB), `__es__` (M2M100), `es_XX` (mBART-50), `>>es<<` (OPUS-MT for several targets) and
`<2es>` (MADLAD) are one language; the form in the vocabulary determines the model's input.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from polyprobe.builder.translators.codes import check_pair, match
from polyprobe.system.errors import PolyprobeError


class Scheme(NamedTuple):
    """The language tokens of a family of models.

    `token` matches a language's token; its group is the code. The target's token begins the answer
    if `forced`, else precedes the sentence.
    """

    token: re.Pattern[str]
    forced: bool


SCHEMES = {
    "nllb": Scheme(re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"), True),
    "m2m100": Scheme(re.compile(r"__([a-z]{2,3})__"), True),
    "mbart50": Scheme(re.compile(r"([a-z]{2})_[A-Z]{2}"), True),
    "opus": Scheme(re.compile(r">>([a-z]{2,3}(?:[_-]\w+)?)<<"), False),
    "madlad": Scheme(re.compile(r"<2([a-z]{2,3}(?:[_-]\w+)?)>"), False),
}


class Languages(NamedTuple):
    """The languages of a model: scheme and {code: token}."""

    scheme: Scheme
    tokens: dict[str, str]

    def find(self, source: str, target: str, model: str) -> tuple[str, str]:
        """Return the tokens of a pair; the source is returned unchanged if the model ignores it.

        Raises:
            PolyprobeError: a language without a token.
        """
        if self.scheme.forced:
            codes = check_pair(f"the model {model}", source, target, self.tokens)
            return self.tokens[codes[0]], self.tokens[codes[1]]
        known = {*self.tokens, source}
        return source, self.tokens[check_pair(f"the model {model}", source, target, known)[1]]


def read_languages(special: Collection[str], vocabulary: Collection[str]) -> Languages | None:
    """Return the languages of a model, None if it has no language tokens.

    Forced tokens must be among the `special` ones: `en_US` may be ordinary text in a vocabulary.
    """
    for scheme in SCHEMES.values():
        among = sorted(special if scheme.forced else vocabulary)
        found = ((token, scheme.token.fullmatch(token)) for token in among)
        if tokens := {code[1]: token for token, code in found if code}:
            return Languages(scheme, tokens)
    return None


def check_stated(stated: tuple[str | None, str | None], asked: tuple[str, str], model: str) -> None:
    """Raise PolyprobeError if a model states another pair than the requested one.

    Groups of languages (`ROMANCE`, `gmw`) and models that state no pair are not checked.
    """
    from babel.core import get_global

    single = {*get_global("likely_subtags"), *get_global("language_aliases")}  # no groups
    for own, wanted in zip(stated, asked, strict=True):
        if own and own in single and not match(wanted, [own]):
            raise PolyprobeError(
                f"the model {model} translates {stated[0]} to {stated[1]}, not {asked[0]} to "
                f"{asked[1]}; name a model of that pair"
            )

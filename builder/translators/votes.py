"""The vote of translators on a wording, as in mParaRel."""

from collections.abc import Collection, Iterable, Mapping


def is_agreed(translators: Collection[str], trusted: Collection[str]) -> bool:
    """Return whether a wording has two votes: a trusted translator has two, the others one.

    This is the rule of Fierro and Søgaard (arXiv:2203.11552, section 3): a translation is valid if
    two translators agree, or if it is from the one that native speakers found to be good.

    >>> is_agreed(["google"], ["bing"]), is_agreed(["bing"], ["bing"])
    (False, True)
    """
    voters = set(translators)
    return len(voters) + len(voters.intersection(trusted)) > 1


def group_wordings(wordings: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return {wording: its translators} of {translator: its wordings}, each named once.

    >>> group_wordings({"bing": ["a", "b"], "google": ["b", "b"]})
    {'a': ['bing'], 'b': ['bing', 'google']}
    """
    groups: dict[str, list[str]] = {}
    for translator, texts in wordings.items():
        for wording in dict.fromkeys(texts):
            groups.setdefault(wording, []).append(translator)
    return groups

"""Russian endings for names outside the dictionary, by their last letter."""

from polyprobe.builder.annotated.gender import FEM, MASC, NEUT, Agreement

HISSING = "жшчщц"
# case: after a hard consonant, for -й, for -а and for -я
ENDINGS = {
    "GEN": ("а", "я", "ы", "и"),
    "DAT": ("у", "ю", "е", "е"),
    "ACC": ("а", "я", "у", "ю"),
    "INS": ("ом", "ем", "ой", "ей"),
    "ESS": ("е", "е", "е", "е"),
}


def decline_name(name: str, case: str, animate: bool, gender: str | None) -> str:
    """Return a foreign name in a case; unchanged if it ends in another vowel or ь.

    A woman's name in a consonant stays unchanged, as does a thing's in the accusative. Plural names
    are not supported.

    >>> [decline_name(name, "INS", True, None) for name in ("Менехм", "Лечче", "Фаэнца")]
    ['Менехмом', 'Лечче', 'Фаэнцей']
    """
    last = name[-1:]
    hard, soft, feminine, soft_feminine = ENDINGS[case]
    if last == "я":
        return name[:-1] + ("и" if name[-2:-1] == "и" and soft_feminine == "е" else soft_feminine)
    if last == "а":
        return name[:-1] + spell(name[:-1], feminine)
    if last not in "бвгджзклмнпрстфхцчшщй" or gender == FEM or (case == "ACC" and not animate):
        return name
    return name[:-1] + soft if last == "й" else name + spell(name, hard)


def spell(stem: str, ending: str) -> str:
    """Return the spelling of an ending after a stem: и for ы after г к х ж ш ч щ, е for о."""
    if ending == "ы" and stem[-1:] in "гкхжшчщ":
        return "и"
    if ending in ("ом", "ой") and stem[-1:] in HISSING:
        return f"е{ending[1]}"
    return ending


def guess_gender(name: str) -> Agreement:
    """Return the gender suggested by a name's last letter; undefined for -о, -и and similar."""
    if name.endswith(("а", "я")):
        return Agreement(FEM)
    return Agreement(
        NEUT if name.endswith(("о", "е")) else MASC, sure=name[-1:] not in "аоуэыияюёеь"
    )

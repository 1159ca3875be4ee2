"""Names to inflect."""

from polyprobe.builder.annotated.inflection import CasedLabel
from polyprobe.builder.annotated.languages import load_inflector

HUMAN, PLACE, LANGUAGE = ("human",), ("city",), ("language",)


def inflect(language, label, case, gender=None, kinds=(), number=None):
    return load_inflector(language).inflect(CasedLabel(label, case, gender, number, kinds))

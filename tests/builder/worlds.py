"""Small worlds of facts to balance."""

import polars as pl
from hypothesis import strategies as st

from polyprobe.builder.facts import TEMPLATES
from polyprobe.builder.facts.labels import clean_facts
from polyprobe.builder.recipes import balanced
from polyprobe.builder.recipes.balanced import material
from tests.builder.tiny_facts import make_facts

NONE = pl.DataFrame(schema=TEMPLATES)


def balance(known, request, fallback=NONE):
    languages = sorted(known.labels["language"].unique())
    made = material.assemble(request, clean_facts(known), fallback, languages)
    return balanced.balance(request, made)


ENTITIES = [f"Q{i}" for i in range(7)]
LANGUAGES = ["en", "fr", "ru"]
RELATIONS = ["P36", "P47", "P17", "P30"]  # P47 is symmetric
TEXTS = ["[X] a [Y]", "[X] b [Y]", "[X] c [Y]", "[X] d [Y]", "[X] e [Y]"]
NAMES = st.sampled_from(["a", "A", "b", "c", "d", "e", "f", "é", "e\u0301", "g", "h", "i", "j"])


@st.composite
def worlds(draw):
    facts = draw(
        st.sets(
            st.tuples(*map(st.sampled_from, (RELATIONS, ENTITIES, ENTITIES))),
            min_size=1,
            max_size=14,
        )
    )
    labels = {
        x: draw(st.dictionaries(st.sampled_from(ENTITIES), NAMES, min_size=4)) for x in LANGUAGES
    }
    templates = {
        x: draw(st.dictionaries(st.sampled_from(RELATIONS), st.sampled_from(TEXTS), min_size=2))
        for x in LANGUAGES
    }
    asked = st.tuples(st.sampled_from(LANGUAGES), st.sampled_from(sorted(facts)))
    sentences = st.sampled_from(["one [Y]", "two [Y]", "three [Y]"])
    told = draw(st.dictionaries(asked, sentences, max_size=8))
    prompts = [(lang, *fact, text, "") for (lang, fact), text in told.items()]
    return make_facts(facts, labels, templates, prompts), labels, templates, told

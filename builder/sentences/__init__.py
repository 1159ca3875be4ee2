"""The sentence-level twin of a dataset's configuration: translated whole, the object found in it.

The twin of `C` is `C-sentence`: the same facts, candidates and answers, told in one language by
the templates, in the others by a translator (`translators/`), which inflects as the language asks.

    base.py      the rows of C, filled: what is translated
    translate.py a sentence in another language, or why there is none
    outcomes.py  the written table of it: every row in every language, with its reason
    forms.py     the candidates' inflected forms
    balance.py   what every language has, and what each of them cost
    twin.py      the steps in their order, checks before and files after
"""

from .twin import build_sentences as build_sentences

"""Answer match judges free answers without a judge: the share of answers that name the right
entity, inflected or romanised, in the language asked or another, and a verdict on each answer.

Args:
    predictions (list of str): the answers, as a model wrote them.
    references (list of list of str): the accepted names of each query, at least one, in the
        language of the answer; with `names` the right entities. A single one may be a text.
    language (str, optional): of all answers, such as "ru".
    languages (list of str, optional): instead of it that of each answer.
    names (dict, optional): the pool that answers are searched for: {entity: {language: names}}.
        By default it has the accepted names of all queries, each as an entity.
    questions (list of str, optional): what was asked; an answer's repetition of a name of the
        question does not count.
    match (str): names (default), or contains: the first name is the answer, one of its words, or
        its beginning, as in KLAR.
{resampling}

Returns:
    accuracy (float): share of right answers, in any language.
    right, right_english, right_other (float): share of answers with the right entity in the
        language asked, in English, in another language.
    another, outside, refusal, empty (float): share of answers with another entity of the pool, with
        none, of those that refuse, and without words. The seven shares sum to 1.
{intervals}
    verdicts (list of dict): of each answer: kind, one of the seven, and the entity, the language
        and the text of the name that decides, empty if there is none.
    n_queries (int): the answers.

Examples:
    >>> match = evaluate.load("answer_match")
    >>> answers, right = ["Во Франции", "В Греции", "Не знаю"], ["Франция", "Франция", "Греция"]
    >>> result = match.compute(predictions=answers, references=right, language="ru", n_resamples=0)
    >>> round(result["accuracy"], 4), round(result["another"], 4), round(result["refusal"], 4)
    (0.3333, 0.3333, 0.3333)
    >>> result["verdicts"][0]
    {'kind': 'right', 'entity': 'Франция', 'language': 'ru', 'text': 'Франции'}
"""

from polyprobe.metrics.answer_match.formulas import match_answers
from polyprobe.metrics.shared.inputs import TEXT, TEXTS, Module


class AnswerMatch(Module):
    """The metric that `evaluate` loads."""

    measure = staticmethod(match_answers)
    gold = True
    columns = {"predictions": TEXT, "references": TEXTS}
    citation = """\
@inproceedings{wang-etal-2025-lost-multilinguality,
    title = "Lost in Multilinguality: Dissecting Cross-lingual Factual Inconsistency in Transformer
      Language Models",
    author = "Wang, Mingyang and Adel, Heike and Lange, Lukas and Liu, Yihong and Nie, Ercong and
      Str{\\"o}tgen, Jannik and Sch{\\"u}tze, Hinrich",
    booktitle = "Proceedings of ACL", year = "2025",
}
"""

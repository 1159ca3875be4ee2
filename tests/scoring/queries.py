"""Queries for the engine: eight scripts, the slot first, in the middle and last."""

# A script each: its texts, and candidates that share beginnings; the second begins the third.
SCRIPTS = [
    (
        ["[Y] is the capital of France.", "The city of [Y] is in Europe.", "The capital is [Y]"],
        ["Berlin", "Paris", "Paris is", "Parma"],
    ),
    (
        ["[Y] — столица Франции.", "Город [Y] находится в Европе.", "Столица Франции — [Y]."],
        ["Берлин", "Моск", "Москва", "Мосул"],
    ),
    (
        ["[Y] هي عاصمة فرنسا.", "مدينة [Y] في أوروبا.", "عاصمة فرنسا هي [Y]"],
        ["برلين", "باري", "باريس", "باكو"],
    ),
    (
        ["[Y]是法国的一个城市。", "法国人都说[Y]是首都。", "法国的首都是[Y]"],
        ["巴塞罗那", "北京", "北京市区", "北海道"],
    ),
    (["[Y] फ़्रांस में है।", "फ़्रांस की राजधानी [Y] है।", "राजधानी [Y]"], ["बर्लिन", "पेरि", "पेरिस", "पेरू"]),
    (["[Y]เป็นเมืองหลวง", "เมือง[Y]อยู่ในยุโรป", "เมืองหลวงคือ[Y]"], ["เบอร์ลิน", "ปารี", "ปารีส", "ปานามา"]),
    (
        ["[Y] היא בירת צרפת.", "העיר [Y] באירופה.", "בירת צרפת היא [Y]"],
        ["ברלין", "פרי", "פריז", "פרם"],
    ),
    (
        ["[Y] είναι στην Ευρώπη.", "Η πόλη [Y] είναι εδώ.", "Η πρωτεύουσα είναι το [Y]"],
        ["Βερολίνο", "Παρί", "Παρίσι", "Πάτρα"],
    ),
]
LONG = "Paris is in Europe, and so are Berlin and Rome. " * 5 + "The city of [Y] is here."


def _queries() -> list[tuple[str, list[str]]]:
    once = [(prompt, candidates) for prompts, candidates in SCRIPTS for prompt in prompts]
    # The same prompts again, with some of their candidates, one twice.
    again = [(prompts[1], [some[2], some[0], some[2]]) for prompts, some in SCRIPTS]
    return [*once[:5], (LONG, SCRIPTS[0][1]), *once[5:], *again]


QUERIES = _queries()


def _fragments() -> list[str]:
    """Return all words, with candidates inserted, as overlapping trigrams.

    Tokenizers trained on these give candidates of several pieces with common prefixes, and BPE that
    merges across the edges of the slot.
    """
    sentences = [prompt.replace("[Y]", c) for prompt, some in QUERIES for c in some]
    words = [f" {word}" for sentence in sentences for word in sentence.split()]
    return [word[k : k + 4] for word in words for k in range(0, len(word), 3)]


TEXT = _fragments()

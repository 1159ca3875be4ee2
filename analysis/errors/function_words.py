"""Function words by language: articles, pronouns, prepositions, conjunctions, auxiliaries.

A prediction of such words alone names nothing. Words are folded as in `types.fold`. Languages
without a list have no function words.
"""

_LISTS = {
    "el": """
        ο η το οι τα του τησ των τον την τη τουσ τισ ενασ μια ενα ενοσ μιασ στο στον στη στην
        στουσ στισ στα σε απο με για προσ μετα χωρισ κατα και ειτε αλλα που πωσ οτι να θα δεν μη
        μην ειναι ηταν εχει ειχε αυτοσ αυτη αυτο αυτοι αυτεσ αυτα αυτου αυτον εκεινοσ εκεινη
        εκεινο ιδιοσ ιδια ιδιο μου σου μασ σασ αλλοσ αλλη αλλο αλλοι οποιοσ οποια οποιο επισησ
        οπωσ πολυ πιο μονο εδω εκει
    """,
    "en": """
        the a an of in on at to from by with for as and or but nor not no is was are were be
        been being has have had do does did will would can could may might must he him his she
        her hers it its they them their theirs we us our you your i me my this that these those
        who whom whose which what where when how other others another one own same such so also
        there here then than s up out into over under about after before between through during
        against all any some each both more most very only
    """,
    "es": """
        el la los las lo un una unos unas de del al a en por para con sin sobre entre desde
        hasta y e o u pero ni no es era fue son fueron ser sido esta estan estaba ha han habia
        su sus se le les ella ello ellos ellas yo tu mi mis este esto estos estas ese esa eso
        aquel aquella otro otra otros otras mismo misma que quien cual cuyo cuya donde cuando
        como tambien muy mas todo toda todos todas
    """,
    "fr": """
        le la les l un une des du de d au aux a en dans par pour avec sans sur sous entre et ou
        mais ni ne pas est etait fut sont etre ete il elle ils elles lui leur leurs son sa ses
        se ce cet cette ces celui celle qui que quoi dont autre autres meme tres plus aussi y on
        je tu nous vous mon ma mes c s n
    """,
    "nl": """
        de het een der den des van in op aan te uit bij door voor met zonder over onder tussen
        en of maar niet geen is was zijn waren worden werd wordt heeft had hij zij ze hem haar
        hun zich dit dat deze die wie wat waar er ook andere anderen zelf zelfde als om tot naar
        ik je we
    """,
    "ru": """
        и а но или не ни в во на с со к ко о об от до из за по при для без под над между у же бы
        ли что как кто где это этот эта эти тот та то те он она оно они его ее их ему им еи себя
        свои свою свое своеи своего был была было были есть быть которыи которая которое которые
        сам сама также так другои другие другая все всех
    """,
    "zh": """
        的 了 在 是 和 与 於 于 为 為 之 他 她 它 其 这 這 那 有 也 及 或 以 中 上 下 一 个 個
    """,
}
FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}

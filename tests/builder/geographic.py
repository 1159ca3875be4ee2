"""Sizes of geofacts, and the scripts and sentence ends of its languages."""

FACTS = {"P30": 175, "P36": 110, "P37": 115, "P38": 50}
CANDIDATES = {"P30": 6, "P36": 10, "P37": 10, "P38": 7}
# The 99.9% points of chi-squared with one degree of freedom less than candidates (any table).
CHI_SQUARED = {"P30": 20.52, "P36": 27.88, "P37": 27.88, "P38": 22.46}
SCRIPTS = {
    **dict.fromkeys(("be", "bg", "ru", "sr", "uk"), ("CYRILLIC",)),
    **dict.fromkeys(("ar", "fa", "ur"), ("ARABIC",)),
    "bn": ("BENGALI",),
    "el": ("GREEK",),
    "he": ("HEBREW",),
    "hi": ("DEVANAGARI",),
    "hy": ("ARMENIAN",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ka": ("GEORGIAN",),
    "ko": ("HANGUL",),
    "ta": ("TAMIL",),
    "th": ("THAI",),
    "zh": ("CJK",),
}
ENDS = {"bn": "।", "hi": "।", "hy": "։", "ja": "。", "th": "[Y]", "ur": "۔", "zh": "。"}

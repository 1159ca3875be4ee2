"""The model of `polyprobe demo`, geolm; `python -m bench geolm` trains it."""

TRAINED = ("en", "es", "ru", "ar", "zh", "hi")  # the languages of geolm's training sentences

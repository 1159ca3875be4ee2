"""The model of `polyprobe demo`, geolm, and the script that trains it."""

TRAINED = ("en", "es", "ru", "ar", "zh", "hi")  # the languages of geolm's training sentences

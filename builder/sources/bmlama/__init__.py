"""The released files of BMLAMA, linked to Wikidata."""

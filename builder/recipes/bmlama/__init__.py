"""BMLAMA: the published rows, and repaired rows that are parallel and have one correct answer."""

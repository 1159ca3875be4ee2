"""Turns BMLAMA as published into what it says it is: parallel, with one correct answer a row."""

"""Turns BMLAMA as published into what it says it is: parallel, with one right answer a row."""

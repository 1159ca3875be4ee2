"""How many times as fast is the engine as its peers, and how close is it to the floor?

    python -m bench engine [--peers PYTHON] [--only decoder] …
    python -m bench engine gpu [--size 1b] [--device cuda] [--rows 500]

One file for each question: race, floor, equality, memory, growth, gpu. Each part keeps its figures
in runs/engine/PART.json, and bench/engine/README.md is written from all of them, so that one part
can be measured again alone. Use an idle machine: two threads that wait for each other and for a
third process take many times as long. A trial (`--rows 4 --rounds 1`) stays in runs/engine/trial.
"""

from collections.abc import Sequence


def main(argv: Sequence[str]) -> None:
    """Run the parts, or the measurement on a GPU."""
    if argv[:1] == ["gpu"]:
        from . import gpu

        return gpu.main(argv[1:])
    from . import parts  # here: a worker imports this package in the peers' interpreter

    return parts.main(argv)

"""Compare the speed of the engine with other methods and with a lower bound.

    python -m bench engine [--peers PYTHON] [--servers PYTHON] [--only decoder] …
    python -m bench engine gpu [--size 1b] [--device cuda] [--rows 500]

One file for each part: race, contexts, floor, prepare, equality, memory, growth, gpu. Each part
saves its figures in runs/engine/PART.json. bench/engine/README.md is written from them; the
sections of other parts stay, so a single part can be measured again. Use an idle machine: if two
threads wait for each other and for a third process, times are many times longer. A trial (`--rows 4
--rounds 1`) writes to runs/engine/trial.
"""

from collections.abc import Sequence


def main(argv: Sequence[str]) -> None:
    """Run the parts, or the measurement on a GPU."""
    if argv[:1] == ["gpu"]:
        from . import gpu

        return gpu.main(argv[1:])
    from . import parts  # local: workers import this package in the peers' interpreter

    return parts.main(argv)

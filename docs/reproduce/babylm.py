"""Accuracy of BabyLM's baselines on BMLAMA from their `predictions.txt`, and what it compares with.

    python docs/reproduce/babylm.py FOLDER [--dataset mubench] [--output runs/babylm]

FOLDER is the shared task's folder, or that of its results: every NAME/LANG/bmlama/predictions.txt
below it is imported as the run OUTPUT/NAME-LANG (`polyprobe import --allow-missing`). --dataset is
a build of `polyprobe build mubench` with LANG-train and LANG-valid. `published` is the accuracy in
`eval_results.json`; `prior` is that of the option that is right most often in LANG-train, over all
rows of LANG-valid.
"""

import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from polyprobe.builder.audit.tables import count_parts
from polyprobe.eval import import_scores
from polyprobe.system.messages import PolyprobeError

HEAD = ("baseline", "language", "rows", "accuracy", "published", "from", "to", "chance", "prior")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line for each baseline and language."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dataset", default="mubench")
    parser.add_argument("--output", type=Path, default=Path("runs/babylm"))
    options = parser.parse_args(argv)
    files = sorted(options.folder.rglob("bmlama/predictions.txt"))
    if not files:
        raise PolyprobeError(f"no NAME/LANG/bmlama/predictions.txt in {options.folder}")
    print(*HEAD, sep="\t")
    for file in files:
        language, name = file.parts[-3], file.parts[-4]
        output = options.output / f"{name}-{language}"
        kept = {"languages": language, "model": name, "allow_missing": True, "output": output}
        results = import_scores(file, options.dataset, f"{language}-valid", **kept)
        published = json.loads(file.with_name("eval_results.json").read_text(encoding="utf-8"))
        counts = count_parts(options.dataset, [language])[language]
        figures = (
            results["accuracy"][language],
            published["eval_accuracy"],
            *results["intervals"]["accuracy"][language],
            results["chance"]["accuracy"],
            counts["accuracy_of_train_prior"],
        )
        n_rows = results["n_queries"]
        print(name, language, n_rows, *(f"{value:.4f}" for value in figures), sep="\t")


if __name__ == "__main__":
    try:
        main()
    except PolyprobeError as error:
        sys.exit(f"error: {error}")

"""A dataset as tasks of evaluation harnesses: files that run there unchanged."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from polyprobe.system.errors import PolyprobeError

from .configuration import Configuration, check_output, read_configuration, write_files
from .lighteval import render_lighteval
from .lm_eval import render_lm_eval

# Each returns the texts of the files by name, given what is asked and the scoring.
HARNESSES: dict[str, Callable[[Configuration, str], Mapping[str, str]]] = {
    "lm-eval": render_lm_eval,
    "lighteval": render_lighteval,
}
SCORINGS = ("bmlama", "object")


def export_dataset(
    folder: Path,
    harness: str,
    output: Path,
    config: str | None = None,
    languages: Sequence[str] | None = None,
    dataset_id: str | None = None,
    scoring: str = "bmlama",
) -> list[Path]:
    """Write a configuration of a dataset as tasks of a harness, and return the files written.

    The tasks are for causal models. They ask what `scoring` asks as closely as the harness can;
    where they differ stands at the top of the file that names all languages.

    Args:
        folder: of the dataset; its rows are checked even where `dataset_id` is given.
        harness: one of HARNESSES.
        output: folder of the files; what an earlier export of the same tasks left there goes.
        config: a configuration; None takes the default.
        languages: splits in the order wanted; None takes all in the order of the card.
        dataset_id: OWNER/NAME on the Hub, from which the tasks then load; None has them read the
            Parquet files where they lie now.
        scoring: `bmlama` (the whole sentence, eq. 10) or `object`.

    Raises:
        PolyprobeError: an unknown name, a folder that is no dataset, rows that cannot be asked, an
            output folder with files of others.
    """
    if harness not in HARNESSES:
        raise PolyprobeError(f"unknown harness {harness!r}; known: {', '.join(HARNESSES)}")
    if scoring not in SCORINGS:
        raise PolyprobeError(
            f"--scoring {scoring} is no protocol that the harnesses can follow; "
            f"known: {', '.join(SCORINGS)}"
        )
    configuration = read_configuration(folder, config, languages, dataset_id)
    check_output(output)
    return write_files(output, HARNESSES[harness](configuration, scoring))

"""Install datasets and metrics under their bare names."""

import json
import os
import shutil
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polyprobe
from polyprobe.system.files import hash_files, write_whole
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import check_arguments

from .source import bundle, find_folder, find_kind, has_parquet, is_metric


def find_folders() -> tuple[list[Path], list[Path]]:
    """Find all folders to install by default, and folders of ./datasets without Parquet."""
    package = Path(polyprobe.__path__[0])
    metrics = sorted(folder for folder in (package / "metrics").iterdir() if is_metric(folder))
    embedded = package / "datasets" / "geofacts"
    local = sorted(folder for folder in Path("datasets").glob("*") if folder.is_dir())
    # A folder of ./datasets replaces the embedded dataset of the same name.
    datasets = {folder.name: folder for folder in [embedded, *local] if has_parquet(folder)}
    skipped = [folder for folder in local if not has_parquet(folder)]
    return metrics + list(datasets.values()), skipped


@check_arguments
def install_folder(folder: Path) -> str:
    """Install a dataset or a metric; return a line with the call that loads it."""
    folder = find_folder(folder)
    if (kind := find_kind(folder)) == "board":
        raise PolyprobeError(f"{folder} is a board, which cannot be installed; open its index.html")
    install = install_metric if kind == "space" else install_dataset
    try:
        return install(folder)
    except PolyprobeError:
        raise
    except Exception as error:  # damaged files raise many types of errors
        cause = error.__cause__ or error
        reason = " ".join(f"{type(cause).__name__}: {cause}".split())
        raise PolyprobeError(f"cannot install {folder}: {reason}") from error


def install_dataset(folder: Path) -> str:
    """Prepare every configuration in the datasets cache, where the bare name finds it."""
    # `load_dataset("NAME", "CONFIG")` looks for ./NAME, then asks the Hub for a dataset NAME
    # (without an owner: only Hugging Face can create one), then takes the newest folder of
    # HF_DATASETS_CACHE/NAME/CONFIG/VERSION/* (datasets 5.2, packaged_modules/cache/cache.py). Here
    # the name of that folder is a hash of the content; `datasets` uses paths and modification
    # times. The default configuration is the newest, so that `load_dataset("NAME")` takes it.
    import datasets  # here, as evaluate below: the import takes seconds

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # it logs errors and raises them
    default = datasets.get_dataset_default_config_name(str(folder))
    configs = datasets.get_dataset_config_names(str(folder))
    copies = []
    for config in sorted(configs, key=lambda config: config == default):
        builder = datasets.load_dataset_builder(str(folder), config)
        files = sorted(Path(file) for paths in builder.config.data_files.values() for file in paths)
        pairs = ((file.name, file) for file in [*folder.glob("README.md"), *files])
        copy = Path(builder.cache_dir).with_name(hash_files(pairs)[:16])
        builder.download_and_prepare(output_dir=str(copy))
        copies.append(copy)
    now = time.time()
    for number, copy in enumerate(copies):  # a millisecond apart: the last one is the newest
        moment = now + (number - len(copies)) / 1000
        os.utime(copy, (moment, moment))
    names = [json.dumps(x, ensure_ascii=False) for x in (folder.name, default or configs[0])]
    usage = f"load_dataset({', '.join(names)})"
    return f"dataset {folder.name} ({', '.join(configs)}) from {folder}: {usage}"


def install_metric(folder: Path) -> str:
    """Copy an `evaluate` module to where the bare name finds it, as if it came from the Hub."""
    # `evaluate.load("NAME")` looks for ./NAME/NAME.py, then asks the Hub for the Spaces
    # evaluate-metric/NAME, evaluate-comparison/NAME and evaluate-measurement/NAME, which only
    # Hugging Face can create. If there is none, it takes the newest copy in its cache (evaluate
    # 0.4.6, loading.py).
    evaluate = import_evaluate()
    from evaluate.loading import LocalEvaluationModuleFactory

    with TemporaryDirectory() as place:
        bundled = bundle(folder, Path(place))
        script = str(bundled / f"{folder.name}.py")
        factory = LocalEvaluationModuleFactory(script)
        for name in (folder.name, f"evaluate-metric/{folder.name}"):
            factory.name = name
            module = factory.get_module().module_path.split(".")
            copy = Path(evaluate.config.HF_MODULES_CACHE, *module).parent
            # evaluate names the copy after the code up to each `#`, also in strings, and does not
            # replace an existing copy, or the half of one that a killed process left. Writing the
            # files again updates the content and the time.
            for file in copy.glob("[!_]*.py"):
                write_whole(file, partial(shutil.copyfile, bundled / file.name), "make room")
            evaluate.load(script)  # a module that does not load must not replace one that does
    return f'metric {folder.name} from {folder}: evaluate.load("{folder.name}")'


def import_evaluate() -> Any:
    """Import `evaluate` without transformers' pipelines, which take five seconds."""
    if not {"evaluate", "transformers"} & set(sys.modules):
        sys.modules["transformers"] = None  # type: ignore[assignment]  # an import of it fails
        try:
            import evaluate  # noqa: F401
        finally:
            del sys.modules["transformers"]
    return import_module("evaluate")

"""Install datasets and metrics under their bare names."""

import hashlib
import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

import polyprobe
from polyprobe.publish.bundle import bundle
from polyprobe.system.errors import PolyprobeError


def find_folders() -> list[Path]:
    """Return what is installed when nothing is named, and say what of ./datasets is left out.

    A folder of ./datasets takes the place of the embedded dataset of the same name.
    """
    package = Path(polyprobe.__path__[0])
    metrics = sorted(folder for folder in (package / "metrics").iterdir() if is_metric(folder))
    embedded = package / "datasets" / "geofacts"
    local = sorted(folder for folder in Path("datasets").glob("*") if folder.is_dir())
    for folder in local:
        if not is_dataset(folder):
            typer.echo(f"skipped {folder}: no Parquet in it; see `polyprobe build`", err=True)
    datasets = {folder.name: folder for folder in [embedded, *local] if is_dataset(folder)}
    return metrics + list(datasets.values())


def install_folder(folder: Path) -> str:
    """Install a folder by what it holds and return the line that tells so, with the line to use.

    Foreign files make the libraries fail in many ways: all are told in a line with the folder.
    """
    folder = folder.resolve()
    if not folder.is_dir():
        raise PolyprobeError(f"no such folder: {folder}")
    if not is_metric(folder) and not is_dataset(folder):
        raise PolyprobeError(
            f"{folder} is neither a dataset (no Parquet in it; see `polyprobe build`) "
            f"nor a metric (no {folder.name}.py in it)"
        )
    try:
        return install_metric(folder) if is_metric(folder) else install_dataset(folder)
    except Exception as error:
        cause = error.__cause__ or error
        reason = " ".join(f"{type(cause).__name__}: {cause}".split())
        raise PolyprobeError(f"cannot install {folder}: {reason}") from error


def is_metric(folder: Path) -> bool:
    """Tell whether the folder is laid out as an `evaluate` module: NAME/NAME.py."""
    return (folder / f"{folder.name}.py").is_file()


def is_dataset(folder: Path) -> bool:
    """Tell whether there is a Parquet file anywhere in the folder."""
    return any(folder.rglob("*.parquet"))


def install_dataset(folder: Path) -> str:
    """Prepare every configuration in the datasets cache, where the bare name finds it.

    `load_dataset("NAME", "CONFIG")` looks for ./NAME, then asks the Hub for a dataset NAME (without
    an owner: only Hugging Face can make one), then takes the newest folder of
    HF_DATASETS_CACHE/NAME/CONFIG/VERSION/* (datasets 5.2, packaged_modules/cache/cache.py). With
    HF_HUB_OFFLINE=1, or if the Hub answers, this takes no time; without any network
    huggingface_hub first tries six times, which takes 23 s.

    We name that folder after the content, where `datasets` takes paths and modification times:
    what changed is prepared anew, what did not is only made the newest. Each configuration has a
    name of its own and the default comes last, so that `load_dataset("NAME")` finds the default;
    under one name for all it would refuse to choose.
    """
    import datasets  # here, as evaluate below: seconds that no other command has to wait for

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # it logs an error and raises it
    default = datasets.get_dataset_default_config_name(str(folder))
    configs = datasets.get_dataset_config_names(str(folder))
    copies = []
    for config in sorted(configs, key=lambda config: config == default):
        builder = datasets.load_dataset_builder(str(folder), config)
        files = sorted(file for split in builder.config.data_files.values() for file in split)
        copy = Path(builder.cache_dir).with_name(fingerprint(config, folder, files))
        builder.download_and_prepare(output_dir=str(copy))
        copies.append(copy)
    make_newest(copies)
    usage = f'load_dataset("{folder.name}", "{default or configs[0]}")'
    return f"dataset {folder.name} ({', '.join(configs)}) from {folder}: {usage}"


def fingerprint(config: str, folder: Path, files: list[str]) -> str:
    """Return 16 hexadecimal digits made from a configuration's name, card and files."""
    digest = hashlib.sha256(config.encode())
    for file in [*folder.glob("README.md"), *map(Path, files)]:
        digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def make_newest(copies: list[Path]) -> None:
    """Set the modification times to now, a millisecond apart: the last one is the newest."""
    now = time.time()
    for number, copy in enumerate(copies):
        moment = now + (number - len(copies)) / 1000
        os.utime(copy, (moment, moment))


def install_metric(folder: Path) -> str:
    """Copy an `evaluate` module to where the bare name finds it, as if it came from the Hub.

    `evaluate.load("NAME")` looks for ./NAME/NAME.py, then asks the Hub for the Spaces
    evaluate-metric/NAME, evaluate-comparison/NAME and evaluate-measurement/NAME, and only if there
    is none takes the newest copy in its cache (evaluate 0.4.6, loading.py). Those owners are
    Hugging Face's; should they ever publish a module of this name, their code runs.
    HF_EVALUATE_OFFLINE=1 keeps evaluate from asking, HF_HUB_OFFLINE does not. Without network it
    goes on at once.
    """
    import evaluate
    from evaluate.loading import LocalEvaluationModuleFactory

    with TemporaryDirectory() as place:
        whole = bundle(folder, Path(place))
        script = str(whole / f"{folder.name}.py")
        evaluate.load(script)  # a module that does not load must not displace one that does
        factory = LocalEvaluationModuleFactory(script)
        factory.name = f"evaluate-metric/{folder.name}"
        module = factory.get_module().module_path.split(".")
        copy = Path(evaluate.config.HF_MODULES_CACHE, *module).parent
        # evaluate names the copy after the code up to each `#`, be it in a string, and leaves a
        # copy that is there: written again, it has the present content and is the newest.
        for file in copy.glob("[!_]*.py"):
            shutil.copyfile(whole / file.name, file)
    return f'metric {folder.name} from {folder}: evaluate.load("{folder.name}")'

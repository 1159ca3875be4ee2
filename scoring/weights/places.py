"""Where the files of a model, its adapter and its code are, their revisions, what is refused."""

import inspect
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Self

from huggingface_hub import hf_hub_download, parse_local_safetensors_file_metadata
from huggingface_hub.errors import EntryNotFoundError, HFValidationError
from transformers.dynamic_module_utils import get_relative_imports
from transformers.utils import TRANSFORMERS_DYNAMIC_MODULE_NAME

from polyprobe.system.files import HASH, hash_files, hash_model, list_model_files
from polyprobe.system.messages import PolyprobeError, may_be_unknown, one_line, quote, report

from ..options import ADAPTER, EMBEDDED, check_model, check_model_revision

# Numbers of a configuration that cost time and memory before the weights are compared with it, and
# the largest ones without weights to compare with.
LAYERS = re.compile(r"(layers?|depth)$")
SIZES = re.compile(r"(size|dim|embd|d_model|d_ff|d_kv|inner|heads?|labels|experts|buckets)$")
MOST_LAYERS, MOST_SIZE = 1_000, 2**22
FEW_LAYERS, SMALL_SIZE, PACKED = 64, 2**17, 8  # always allowed; 4-bit weights in one integer
SETTINGS = ("config.json", "tokenizer_config.json")  # files whose `auto_map` names classes


class Place(NamedTuple):
    """A folder, one file in it, or a repository on the Hub."""

    name: str  # how the user named it, for messages
    path: str  # the folder, or the id on the Hub
    # Branch, tag or commit; None for a folder and for the default branch
    revision: str | None = None
    gguf: str | None = None  # the GGUF file in the folder

    @property
    def local(self) -> bool:
        """Return whether it is a folder."""
        return os.path.isdir(self.path)

    @property
    def label(self) -> str:
        """Return the name for signatures: an id on the Hub, or the last part of a path."""
        return Path(self.path).name if self.local else self.path

    @property
    def options(self) -> dict[str, str]:
        """Return the keywords of `from_pretrained`."""
        options = {"revision": self.revision, "gguf_file": self.gguf}
        return {name: value for name, value in options.items() if value}

    @property
    def is_adapter(self) -> bool:  # transformers would load one unseen
        """Return whether it holds an adapter."""
        return self.gguf is None and self.file(ADAPTER) is not None

    def file(self, name: str) -> Path | None:
        """Return the path of one of its files, downloaded if it is on the Hub; None without it."""
        if self.local:
            path = Path(self.path) / name
            return path if path.is_file() else None
        try:
            return Path(hf_hub_download(self.path, name, revision=self.revision))
        except EntryNotFoundError:  # also of a cache without the file and without a network
            return None
        except Exception as error:
            raise cannot_load(self.name, error) from error

    def pin(self, name: str = "config.json") -> Self:
        """Return the same with the commit in which it has this file, if it is on the Hub."""
        # The cache of the Hub has a folder for each commit.
        path = None if self.local else self.file(name)
        return self._replace(revision=path.parent.name) if path else self

    def load(self, loader: Callable[..., Any], **keywords: Any) -> Any:
        """Load a part of the model; damaged files raise errors of many classes."""
        try:
            return loader(self.path, **self.options, **keywords)
        except (Exception, SystemExit) as error:  # SystemExit: of the model's own code
            raise cannot_load(self.name, error) from error

    def exact_revision(self) -> str:
        """Return a hash of a folder's files, or the commit of a pinned repository."""
        if self.local:
            return HASH + hash_model(Path(self.path), self.gguf)
        return self.revision or ""


def locate_model(model: str, revision: str | None) -> Place:
    """Find a model or an adapter."""
    path = Path(model)
    if model.endswith(".gguf"):
        if not path.is_file():
            raise PolyprobeError(f"no such GGUF file: {model}")
        return Place(model, str(path.resolve().parent), gguf=path.name)
    if path.is_file():
        raise PolyprobeError(f"{model} is a file, but not .gguf; give a folder or a GGUF file")
    if path.is_dir():
        names = sorted(file.name for file in path.glob("*.gguf"))
        if any((path / name).exists() for name in ("config.json", ADAPTER)):
            names = []  # the folder has something else to load
        if len(names) > 1:
            raise PolyprobeError(
                f"{path} has {len(names)} GGUF files; give one: {', '.join(names)}"
            )
        return Place(model, str(path.resolve()), gguf=names[0] if names else None)
    if model in EMBEDDED:
        return Place(model, str(files("polyprobe.scoring.embedded") / model))
    check_model(model)
    return Place(model, model, revision)


def find_tokenizer(model: str, revision: str | None = None) -> Place:
    """Find where the tokenizer is, pinned: an id on the Hub, a folder, a GGUF file, or `geolm`."""
    return locate_model(model, revision).pin("tokenizer_config.json").pin("tokenizer.json")


def load_tokenizer(place: Place) -> Any:
    """Load a tokenizer of transformers; none of its own code is run."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(place.path, trust_remote_code=False, **place.options)
    except Exception as error:  # damaged files raise many classes of errors
        raise PolyprobeError(
            f"no tokenizer of '{place.name}' ({one_line(error)}); give a model that the Hub or the "
            "local cache has, a folder with a tokenizer, or a GGUF file"
        ) from error


class Parts(NamedTuple):
    """A model and the adapter that changes it, both pinned."""

    base: Place
    adapter: Place | None
    tokenizer: Place  # the adapter's own if it has one
    by_adapter: bool  # whether the user named the adapter and not the base

    def identify(self) -> tuple[str, dict[str, str]]:
        """Return the named part's exact revision; the other part and PEFT's version by its role."""
        base = self.base.exact_revision()
        if self.adapter is None:
            return base, {}
        adapter, package = self.adapter.exact_revision(), f"+peft {version('peft')}"
        if self.by_adapter:
            return adapter, {"base": f"{self.base.label}@{base}{package}"}
        return base, {"adapter": f"{self.adapter.label}@{adapter}{package}"}


def find_parts(model: str, revision: str | None, adapter: str | None) -> Parts:
    """Find a model and its adapter: that of `--adapter`, or the model itself."""
    # The revision is that of the model; of the base, if the model is an adapter in a folder
    place = locate_model(model, revision)
    if adapter is not None:
        extra, base = _find_adapter(adapter), place
    elif place.is_adapter:
        extra = place.pin(ADAPTER)
        base = _find_base(extra, revision if place.local else None)
    else:
        base = place.pin()
        return Parts(base, None, base, False)
    if base.is_adapter:
        raise PolyprobeError(
            f"the base of the adapter '{extra.name}' is an adapter too: {base.name}; merge that "
            "into its own base first (merge_and_unload)"
        )
    trained = _read_settings(extra).get("base_model_name_or_path") if adapter else None
    # The same model may have several names.
    if trained and Path(str(trained)).name.casefold() != Path(base.label).name.casefold():
        report(f"warning: the adapter '{extra.name}' was trained on {trained}, not {base.name}")
    base = base.pin()
    tokenizer = extra if extra.file("tokenizer_config.json") else base
    return Parts(base, extra, tokenizer, adapter is None)


def _find_adapter(name: str) -> Place:
    path, _, revision = (name, "", "") if Path(name).exists() else name.partition("@")
    place = locate_model(path, revision or None)
    try:
        exists = place.is_adapter
    except PolyprobeError as error:
        raise PolyprobeError(f"--adapter {name}: {error}") from error
    if not exists:
        raise PolyprobeError(
            f"unknown adapter '{name}': it is not a folder here, and neither the Hub nor the local "
            f"cache has its {ADAPTER}; give the folder or id that save_pretrained wrote"
        )
    return place.pin(ADAPTER)


def _find_base(adapter: Place, revision: str | None) -> Place:
    settings = _read_settings(adapter)
    name = settings.get("base_model_name_or_path")
    remedy = f"name the base: polyprobe eval BASE --adapter {adapter.name}"
    if not name or not isinstance(name, str):
        raise PolyprobeError(f"the adapter '{adapter.name}' does not name its base; {remedy}")
    if name.startswith((".", "/")) and not Path(name).exists():
        raise PolyprobeError(
            f"the base of the adapter '{adapter.name}' is not here: {name}; {remedy}"
        )
    check_model_revision(name, revision)
    return locate_model(name, revision or settings.get("revision"))


def check_files(places: Iterable[Place]) -> None:
    """Refuse absurd numbers in the configuration, and weights or tokenizers outside the folder."""
    for place in places:
        if problem := _find_problem(place):
            raise PolyprobeError(
                f"cannot load the model in {place.name}: {problem}; correct the files"
            )


def _find_problem(place: Place) -> str:
    problem, file = "", None if place.gguf else place.file("config.json")
    # Of the Hub some of the weights may be here.
    layers, size = _measure(Path(place.path).glob("*.safetensors") if place.local else ())
    for name, value in _list_numbers(read_object(file)):
        limit = layers if LAYERS.search(name) else size if SIZES.search(name) else value
        if value > limit:
            problem = f"{name} in its config.json is {value}, its weights can have {limit} at most"
    hashed = {*list_model_files(Path(place.path))} if place.local else set()
    for name, path in _list_named(Path(place.path)) if place.local else ():
        if path not in hashed:
            problem = f"{name} names {quote(str(path))}, which its revision does not cover"
    return problem


def check_header(place: Place, config: Any) -> None:
    """Refuse numbers of a GGUF file's header that its tensors do not have."""
    layers = getattr(config, "num_hidden_layers", 0)
    if place.gguf:
        from gguf import GGUFReader

        tensors = GGUFReader(Path(place.path, place.gguf)).tensors
        numbers = [re.match(r"blk\.(\d+)\.", tensor.name) for tensor in tensors]
        n_blocks = max((int(number[1]) + 1 for number in numbers if number), default=layers)
        if layers != n_blocks:
            raise PolyprobeError(
                f"cannot load the model in {place.name}: its header has {layers} layers, its "
                f"tensors are of {n_blocks}; download the file again"
            )


def read_object(file: Path | None) -> dict[str, Any]:
    """Read a JSON object; without a file, and of a damaged one, it is empty."""
    try:
        value = json.loads(file.read_text(encoding="utf-8")) if file else None
    except (OSError, RecursionError, ValueError):
        value = None  # transformers names the damage
    return value if isinstance(value, dict) else {}


def _list_numbers(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _list_numbers(item, key)


def _measure(files: Iterable[Path]) -> tuple[int, int]:
    """Return the most layers and the largest size that the headers of weights allow."""
    n_tensors, longest = 0, 0
    for file in filter(Path.is_file, files):
        try:
            tensors = parse_local_safetensors_file_metadata(file).tensors
            longest = max(longest, *(max(x.shape, default=0) for x in tensors.values()))
        except Exception:
            continue  # damaged, which transformers names
        n_tensors += len(tensors)
    if not n_tensors:
        return MOST_LAYERS, MOST_SIZE
    return max(FEW_LAYERS, n_tensors), max(SMALL_SIZE, PACKED * longest)


def _list_named(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files that an index of weights or the settings of the tokenizer name."""
    for index in folder.glob("*.index.json"):
        weights = read_object(index).get("weight_map")
        for name in dict.fromkeys(weights.values()) if isinstance(weights, dict) else ():
            yield index.name, folder / str(name)
    for key, name in read_object(folder / "tokenizer_config.json").items():
        # paths of the machine where it was saved do not exist here
        if key.endswith(("_file", "_spm")) and isinstance(name, str) and (folder / name).is_file():
            yield f"{key} in tokenizer_config.json", folder / name


def _read_settings(adapter: Place) -> dict[str, Any]:
    file = adapter.file(ADAPTER)
    with one_line_errors(adapter):
        value = json.loads(file.read_text(encoding="utf-8")) if file else None
        if not isinstance(value, dict):
            raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    return value


@contextmanager
def one_line_errors(adapter: Place) -> Iterator[None]:
    """Raise the errors of damaged files, which are of many classes, as one of one line."""
    try:
        yield
    except PolyprobeError:
        raise
    except Exception as error:
        raise PolyprobeError(
            f"cannot load the adapter '{adapter.name}': {type(error).__name__}: {one_line(error)}"
        ) from error


def cannot_load(model: str, error: BaseException) -> PolyprobeError:
    """Return the one-line error for a model, or a part of it, that cannot be loaded."""
    text = one_line(error)
    if "trust_remote_code" in str(error):
        return PolyprobeError(
            f"model '{model}' has its own code (auto_map in its config.json), which is not run "
            "unless you add --trust-remote-code; read its .py files first"
        )
    if ".gguf' is not a valid JSON" in str(error):
        text = "it is not a readable GGUF file"
    elif "ignore_mismatched_sizes" in text:
        text = "its weights have other shapes than its configuration says"
    elif not isinstance(error, OSError | ValueError):
        text = f"{type(error).__name__}: {text}"
    here = os.path.isdir(model) or model.endswith(".gguf") or model in EMBEDDED
    if here or not (isinstance(error, OSError | HFValidationError) and may_be_unknown(error)):
        return PolyprobeError(f"cannot load the model in {model}: {text}")
    return PolyprobeError(
        f"unknown model '{model}', or the Hub cannot be reached; give an id that the Hub or the "
        "local cache has (HF_HUB_OFFLINE=1 uses only the cache), a local folder, or a GGUF file "
        f"({text})"
    )


class Code(NamedTuple):
    """Python files of a folder or of one repository at one commit."""

    place: Place  # where they are; its revision is pinned
    files: dict[str, Path]  # by name

    @property
    def hash(self) -> str:
        """Return a hash of the names and contents."""
        return HASH + hash_files(sorted(self.files.items()))

    def allow(self) -> dict[str, Any]:
        """Print which files will be run; return the keywords of `from_pretrained` that do it."""
        at = self.place.revision or self.hash[:19]
        names = ", ".join(sorted(self.files))
        report(f"warning: the code of '{self.place.path}' at {at} is run: {names}")
        pinned = {"code_revision": self.place.revision} if self.place.revision else {}
        return {"trust_remote_code": True, **pinned}

    def check_run(self, network: Any) -> None:
        """Refuse a network whose class is not of these files."""
        # transformers takes a class that was loaded before for the same class of configuration
        if not type(network).__module__.startswith(TRANSFORMERS_DYNAMIC_MODULE_NAME):
            return
        file = Path(inspect.getfile(type(network)))
        run = [file.with_name(name) for name in self.files if file.with_name(name).is_file()]
        if any(path.read_bytes() != self.files[path.name].read_bytes() for path in run):
            raise PolyprobeError(
                f"other code of the same name as that of '{self.place.path}' was loaded earlier in "
                "this process; load this model in a process of its own"
            )


def find_code_files(places: Iterable[Place]) -> Code | None:
    """List the files that the model and its tokenizer import; None without any."""
    # Nothing is run. Places on the Hub are pinned, and so is another repository that they name.
    modules: dict[str, tuple[Place, list[str]]] = {}
    for place in places:
        for reference in _list_references(place):
            owner, _, name = reference.rpartition("--")
            module = f"{name.partition('.')[0]}.py"
            home = place if owner in ("", place.path) else locate_model(owner, None).pin(module)
            modules.setdefault(home.path, (home, []))[1].append(module)
    if len(modules) > 1:
        raise PolyprobeError(
            f"the code of the model is in several places ({', '.join(modules)}), which cannot be "
            "pinned together; save model and tokenizer with their code in one folder"
        )
    for place, names in modules.values():
        return Code(place, _with_imports(place, names))
    return None


def _list_references(place: Place) -> Iterator[str]:
    """Yield the values of `auto_map`, such as `modeling_x.XForCausalLM`."""
    for name in SETTINGS:
        classes = read_object(place.file(name)).get("auto_map")
        for value in classes.values() if isinstance(classes, dict) else ():
            for reference in filter(None, value if isinstance(value, list) else [value]):
                if not isinstance(reference, str):
                    raise PolyprobeError(
                        f"auto_map in {name} of '{place.name}' names {quote(reference)}; expected "
                        "the text FILE.CLASS"
                    )
                yield reference


def _with_imports(place: Place, pending: list[str]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    while pending:
        name = pending.pop()
        if name not in files:
            file = place.file(name)
            if file is None:
                raise PolyprobeError(f"'{place.path}' names code in {name}, which it does not have")
            files[name] = file
            pending += [f"{module}.py" for module in get_relative_imports(file)]
    return files

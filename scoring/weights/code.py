"""The Python files that a model brings, for `--trust-remote-code`."""

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transformers.dynamic_module_utils import get_relative_imports
from transformers.utils import TRANSFORMERS_DYNAMIC_MODULE_NAME

from polyprobe.system.files import HASH, hash_files
from polyprobe.system.messages import PolyprobeError, quote, report

from .places import Place, locate_model, read_object

SETTINGS = ("config.json", "tokenizer_config.json")  # files whose `auto_map` names classes


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

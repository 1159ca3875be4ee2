"""The name of a dataset on the Hub."""

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from polyprobe.system.errors import PolyprobeError


def check_dataset_id(name: str) -> str:
    """Return OWNER/NAME as it is given; what the Hub would not take raises PolyprobeError."""
    try:
        validate_repo_id(name)
    except HFValidationError:
        owner = ""
    else:
        owner = name.rpartition("/")[0]
    if not owner:
        raise PolyprobeError(f"--dataset-id {name!r} is no name on the Hub; expected OWNER/NAME")
    return name

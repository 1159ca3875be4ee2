"""Names of repositories on the Hub."""

from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from polyprobe.system.errors import PolyprobeError


def check_repository_name(name: str, remedy: str) -> None:
    """Refuse a name that is not OWNER/NAME, or that the Hub does not permit."""
    try:
        validate_repo_id(name)
    except HFValidationError:
        valid = False
    else:
        valid = "/" in name
    if not valid:
        raise PolyprobeError(f"{name!r} is not a repository name OWNER/NAME; {remedy}")


def check_dataset_id(name: str) -> str:
    """Return the value of --dataset-id, unchanged.

    Raises:
        PolyprobeError: it is not a valid OWNER/NAME.
    """
    check_repository_name(name, "correct --dataset-id")
    return name

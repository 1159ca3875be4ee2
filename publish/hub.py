"""A repository on the Hub: its name, its state, its difference from a folder, its errors."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from huggingface_hub import HfApi, constants, errors, get_session, get_token
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import validate_repo_id

from polyprobe.system.files import read_toml
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.text import hide_secrets

from .source import Source, is_published

MAIN = "main"
# The end of the message of a push's commit; see push.title.
PUSHED = re.compile(r"polyprobe \S+ \(content [0-9a-f]{12}\)$")
# The files of the Hub's first commit, and those of a static Space, which a board is.
_MADE, _MADE_STATIC = {".gitattributes", "README.md"}, {"index.html", "style.css"}
WAIT = 60  # seconds without a byte of an answer; by default the client waits without limit
AGAIN = "run the same command again: uploaded files are not sent twice"
_XET_STATUS = re.compile(r"HTTP status (?:client|server) error \((\d{3}) ?([^)]*)\)")


def check_repository_name(name: str, remedy: str = "correct --dataset-id") -> str:
    """Refuse a name that is not OWNER/NAME, or that the Hub does not permit; return others."""
    with suppress(errors.HFValidationError):
        validate_repo_id(name)
        if "/" in name:
            return name
    raise PolyprobeError(f"{name!r} is not a repository name OWNER/NAME; {remedy}")


class Remote(NamedTuple):
    """A repository at a revision."""

    private: bool | None  # None: it does not exist, or the token may not see it
    head: str  # the commit; empty if there is none
    branch: bool  # False: no such revision, `files` are of `main`, where a new branch starts
    files: Mapping[str, str]  # path → id of the content

    @property
    def exists(self) -> bool:
        """Whether the token sees such a repository."""
        return self.private is not None


class Changes(NamedTuple):
    """The changes that make a repository equal to a folder: paths, each list sorted."""

    added: list[str]
    changed: list[str]
    deleted: list[str]
    same: list[str]
    foreign: list[str]  # in the repository; a push never writes them

    @property
    def is_empty(self) -> bool:
        """Whether the repository has the folder's files already."""
        return not (self.added or self.changed or self.deleted)


NO_REPOSITORY = Remote(private=None, head="", branch=False, files={})


def check_revision(revision: str) -> None:
    """Refuse a name that no branch can have: a commit, a ref, an empty one."""
    valid = re.fullmatch(r"\w[\w./-]*", revision) and ".." not in revision
    if not valid or revision.startswith("refs/") or re.fullmatch("[0-9a-f]{40}", revision):
        raise PolyprobeError(f"--revision {revision!r} is not a branch name; use one such as v2")


def read_remote(api: HfApi, repo_id: str, kind: str, revision: str = MAIN) -> Remote:
    """Read the state of a repository at a branch or ref; both may be missing. Refuse a tag."""
    try:
        info = api.repo_info(repo_id, repo_type=kind, revision=revision, timeout=WAIT)
        branch = True
    except errors.RepositoryNotFoundError:
        return NO_REPOSITORY
    except errors.RevisionNotFoundError:
        info, branch = api.repo_info(repo_id, repo_type=kind, timeout=WAIT), False
    if branch and revision != MAIN and not revision.startswith("refs/"):
        refs = api.list_repo_refs(repo_id, repo_type=kind)
        if revision not in {ref.name for ref in refs.branches}:
            raise PolyprobeError(f"--revision {revision!r} is not a branch of {repo_id}; use one")
    head = str(info.sha)
    entries = api.list_repo_tree(repo_id, repo_type=kind, revision=head, recursive=True)
    # The Hub names the content of a large file by its SHA-256, any other by its git id.
    blobs = [x for x in entries if isinstance(x, RepoFile)]
    files = {x.path: x.lfs.sha256 if x.lfs else x.blob_id for x in blobs}
    return Remote(bool(info.private), head, branch, files)


def check_ours(api: HfApi, repo_id: str, source: Source, remote: Remote) -> None:
    """Refuse a repository with files but no commit of a push: they would be overwritten."""
    if not remote.exists:
        return
    commits = api.list_repo_commits(repo_id, repo_type=source.repo_type, revision=remote.head)
    if any(PUSHED.search(commit.title) for commit in commits):
        return
    made = _MADE | _MADE_STATIC if source.kind == "board" else _MADE
    strangers = sorted(remote.files.keys() - made)
    if strangers or len(commits) > 1:
        names = ", ".join(strangers[:3] or sorted(remote.files)) + (", …" if strangers[3:] else "")
        raise PolyprobeError(
            f"{repo_id} has files that are not from a push ({names}), and would overwrite them: "
            "use another name, empty the repository, or propose the files with --create-pr"
        )


def find_changes(source: Source, remote: Remote) -> Changes:
    """List the changes that make the repository equal to the folder."""
    there, here = remote.files, source.files
    same = {path for path, x in here.items() if there.get(path) in (x.sha256, x.git_oid)}
    gone = sorted(there.keys() - here)
    added = [path for path in here if path not in there]
    changed = [path for path in here if path in there and path not in same]
    deleted = [path for path in gone if is_published(path, source.kind)]
    foreign = [path for path in gone if path not in deleted]
    return Changes(added, changed, deleted, sorted(same), foreign)


class UnreachableError(PolyprobeError):
    """The Hub could not be asked, so the state of the repository is unknown."""


@dataclass
class State:
    """The state of the repository during a push, in the words of an error message."""

    text: str = "nothing was changed there"


@contextmanager
def explain_hub(repo_id: str) -> Iterator[State]:
    """Turn any error of the Hub or its client in the block into one line without a token."""
    state = State()
    get_session().timeout = WAIT
    try:
        yield state
    except PolyprobeError:
        raise
    except errors.OfflineModeIsEnabled:
        text = f"HF_HUB_OFFLINE is set, so the Hub cannot be asked for {repo_id}; unset it"
        raise UnreachableError(text) from None
    except Exception as error:  # answers of the Hub, errors of the transport and of hf_xet
        causes: list[BaseException] = [error]
        while cause := causes[-1].__cause__ or causes[-1].__context__:
            causes.append(cause)
        if refusal := next(filter(None, map(_explain_refusal, causes)), None):
            raise PolyprobeError(f"{repo_id}: {refusal}; {state.text}") from None
        rest = f"({_redact(error)}); {state.text}; {AGAIN}"
        if any(isinstance(cause, (errors.HTTPError, ConnectionError)) for cause in causes):
            raise UnreachableError(f"{repo_id}: no connection to {endpoint()} {rest}") from None
        raise PolyprobeError(f"{repo_id}: the upload failed {rest}") from None


def _explain_refusal(error: BaseException) -> str:
    """Describe an answer of the Hub other than 200 and the remedy; empty for other errors."""
    wait = "a while"
    if isinstance(error, errors.HfHubHTTPError):
        answer = error.response
        status, message = answer.status_code, error.server_message or answer.reason_phrase
        if seconds := answer.headers.get("Retry-After"):
            wait = f"{seconds} s"
    elif match := _XET_STATUS.search(str(error)):  # hf_xet has the answer in its message only
        status, message = int(match[1]), match[2]
    else:
        return ""
    fault = "the Hub has a fault; {again}" if status >= 500 else ""
    remedy = read_toml(__package__, "remedies.toml").get(str(status), fault)
    remedy = remedy.format(log_in=how_to_log_in(), wait=wait, again=AGAIN)
    message = _redact(message)
    if status == 403 and "disabled" in message:
        remedy = ""
    return f"the Hub answered {status} ({message})" + (f": {remedy}" if remedy else "")


def how_to_log_in() -> str:
    """Say how to get a token with write permission."""
    page = f"{endpoint()}/settings/tokens"
    return f"make a token with write permission at {page}, then `hf auth login` or set HF_TOKEN"


def endpoint() -> str:
    """Read the Hub's address, without a user and password."""
    return hide_secrets(constants.ENDPOINT)


def _redact(error: object) -> str:
    """Write an error as one line of at most 300 characters, without any token."""
    text = " ".join(str(error).split()) or type(error).__name__
    with suppress(Exception):  # some sources of a token ask a server
        if token := get_token():
            text = text.replace(token, "…")
    return hide_secrets(text, constants.ENDPOINT)[:300]

"""What the Hub has of a repository already, and how a folder differs from it."""

from collections.abc import Mapping
from fnmatch import fnmatch
from typing import NamedTuple

from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import RepoFile

from .source import File, Source

# What a push writes, and so may delete; whatever else is in a repository stays there.
OURS = {
    "dataset": ("eval.yaml", "LICENSE*", "data/*", "sentences/*"),
    "space": ("requirements.txt", "*.py"),
}
MAIN = "main"


class Remote(NamedTuple):
    """A repository at a revision: the ids of its files by path, and the commit they are of.

    `private` is None and `head` empty where there is no repository; `branch` tells whether the
    revision is there: where it is not, the files are those of `main`, from which it will start.
    """

    private: bool | None
    head: str
    branch: bool
    files: Mapping[str, str]

    @property
    def exists(self) -> bool:
        """Tell whether there is such a repository, to the eyes of the token."""
        return self.private is not None


class Plan(NamedTuple):
    """How the repository would become like the folder: paths, each list sorted."""

    added: list[str]
    changed: list[str]
    deleted: list[str]
    same: list[str]
    kept: list[str]

    @property
    def uploads(self) -> list[str]:
        """Return what is sent: all that is new or changed."""
        return self.added + self.changed

    @property
    def is_empty(self) -> bool:
        """Tell whether the repository is like the folder already."""
        return not self.uploads and not self.deleted


NOTHING = Remote(private=None, head="", branch=False, files={})


def read_remote(api: HfApi, repo_id: str, kind: str, revision: str = MAIN) -> Remote:
    """Return what is at a revision; a repository or branch that is not there is no error."""
    try:
        info = api.repo_info(repo_id, repo_type=kind, revision=revision)
        branch = True
    except RepositoryNotFoundError:
        return NOTHING
    except RevisionNotFoundError:
        info, branch = api.repo_info(repo_id, repo_type=kind), False
    head = str(info.sha)
    entries = api.list_repo_tree(repo_id, repo_type=kind, revision=head, recursive=True)
    files = {entry.path: content_id(entry) for entry in entries if isinstance(entry, RepoFile)}
    return Remote(bool(info.private), head, branch, files)


def content_id(entry: RepoFile) -> str:
    """Return the id of a file's content: the SHA-256 of a large file, git's of another."""
    return entry.lfs.sha256 if entry.lfs else entry.blob_id


def compare(source: Source, remote: Remote) -> Plan:
    """Return what is to be done that the repository holds the folder's files."""
    there, here = remote.files, source.files
    gone = sorted(set(there) - set(here))
    return Plan(
        added=[path for path in here if path not in there],
        changed=[path for path in here if path in there and there[path] not in ids(here[path])],
        deleted=[path for path in gone if is_ours(path, source.kind)],
        same=[path for path in here if there.get(path) in ids(here[path])],
        kept=[path for path in gone if not is_ours(path, source.kind)],
    )


def ids(file: File) -> tuple[str, str]:
    """Return both names under which the Hub may know a content."""
    return file.sha256, file.git_oid


def is_ours(path: str, kind: str) -> bool:
    """Tell whether a push may have written a path of a repository of that kind."""
    return any(fnmatch(path, pattern) for pattern in OURS[kind])

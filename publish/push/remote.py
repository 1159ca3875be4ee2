"""What the Hub has of a repository already, and how a folder differs from it."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import RepoFile

from polyprobe.system.errors import PolyprobeError

from . import failures
from .files import is_published
from .source import File, Source

MAIN = "main"
# How the message of a push's commit ends; see publish.title.
PUSHED = re.compile(r"polyprobe \S+ \(content [0-9a-f]{12}\)$")
MADE_BY_THE_HUB = {".gitattributes", "README.md"}


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


def check_revision(revision: str) -> None:
    """Refuse what cannot be the name of a branch: a commit, a ref, nothing."""
    named = re.fullmatch(r"\w[\w./-]*", revision) and ".." not in revision
    if not named or revision.startswith("refs/") or re.fullmatch("[0-9a-f]{40}", revision):
        raise PolyprobeError(f"--revision {revision!r} is no name of a branch; give one, as v2")


def read_remote(api: HfApi, repo_id: str, kind: str, revision: str = MAIN) -> Remote:
    """Return what is at a revision; a repository or branch that is not there is no error.

    Raises:
        PolyprobeError: the revision is a tag.
    """
    try:
        info = api.repo_info(repo_id, repo_type=kind, revision=revision, timeout=failures.WAIT)
        branch = True
    except RepositoryNotFoundError:
        return NOTHING
    except RevisionNotFoundError:
        info, branch = api.repo_info(repo_id, repo_type=kind, timeout=failures.WAIT), False
    if branch and revision != MAIN and not revision.startswith("refs/"):
        refs = api.list_repo_refs(repo_id, repo_type=kind)
        if revision not in {ref.name for ref in refs.branches}:
            raise PolyprobeError(f"--revision {revision!r} is no branch of {repo_id}; give one")
    head = str(info.sha)
    entries = api.list_repo_tree(repo_id, repo_type=kind, revision=head, recursive=True)
    files = {entry.path: content_id(entry) for entry in entries if isinstance(entry, RepoFile)}
    return Remote(bool(info.private), head, branch, files)


def check_ours(api: HfApi, repo_id: str, kind: str, remote: Remote) -> None:
    """Refuse to write into a repository with files in which no push of ours has been before.

    Raises:
        PolyprobeError: it holds what others have put there.
    """
    others = sorted(set(remote.files) - MADE_BY_THE_HUB)
    if not remote.exists:
        return
    commits = api.list_repo_commits(repo_id, repo_type=kind, revision=remote.head)
    if any(PUSHED.search(commit.title) for commit in commits):
        return
    if others or len(commits) > 1:
        shown = ", ".join(others[:3] or sorted(remote.files)) + (", …" if others[3:] else "")
        raise PolyprobeError(
            f"{repo_id} holds files that no push has put there ({shown}); they would be "
            "overwritten: give another name, empty it, or propose the files with --create-pr"
        )


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
        deleted=[path for path in gone if is_published(path, source.kind)],
        same=[path for path in here if there.get(path) in ids(here[path])],
        kept=[path for path in gone if not is_published(path, source.kind)],
    )


def ids(file: File) -> tuple[str, str]:
    """Return both names under which the Hub may know a content."""
    return file.sha256, file.git_oid

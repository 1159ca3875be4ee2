"""The state of a repository on the Hub, and its difference from a folder."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import RepoFile

from polyprobe.system.errors import PolyprobeError

from . import failures
from .source import File, Source, is_published

MAIN = "main"
# The end of the message of a push's commit; see commit.title.
PUSHED = re.compile(r"polyprobe \S+ \(content [0-9a-f]{12}\)$")
MADE_BY_THE_HUB = {".gitattributes", "README.md"}


class Remote(NamedTuple):
    """A repository at a revision.

    Attributes:
        private: None if the repository does not exist, or the token may not see it.
        head: the commit; empty if there is none.
        branch: whether the revision exists. If not, `files` are those of `main`, from which a new
            branch starts.
        files: {path: id of the content}.
    """

    private: bool | None
    head: str
    branch: bool
    files: Mapping[str, str]

    @property
    def exists(self) -> bool:
        """Return whether the token sees such a repository."""
        return self.private is not None


class Changes(NamedTuple):
    """The changes that make a repository equal to a folder: paths, each list sorted.

    `kept` are files in the repository that a push never writes.
    """

    added: list[str]
    changed: list[str]
    deleted: list[str]
    same: list[str]
    kept: list[str]

    @property
    def uploads(self) -> list[str]:
        """Return all new and changed paths."""
        return self.added + self.changed

    @property
    def is_empty(self) -> bool:
        """Return whether the repository has the folder's files already."""
        return not self.uploads and not self.deleted


NO_REPOSITORY = Remote(private=None, head="", branch=False, files={})


def check_revision(revision: str) -> None:
    """Refuse a name that no branch can have: a commit, a ref, an empty one."""
    valid = re.fullmatch(r"\w[\w./-]*", revision) and ".." not in revision
    if not valid or revision.startswith("refs/") or re.fullmatch("[0-9a-f]{40}", revision):
        raise PolyprobeError(f"--revision {revision!r} is not a branch name; use one such as v2")


def read_remote(api: HfApi, repo_id: str, kind: str, revision: str = MAIN) -> Remote:
    """Return the state of a repository at a revision; both may be missing.

    Raises:
        PolyprobeError: the revision is a tag or a commit.
    """
    try:
        info = api.repo_info(repo_id, repo_type=kind, revision=revision, timeout=failures.WAIT)
        branch = True
    except RepositoryNotFoundError:
        return NO_REPOSITORY
    except RevisionNotFoundError:
        info, branch = api.repo_info(repo_id, repo_type=kind, timeout=failures.WAIT), False
    if branch and revision != MAIN and not revision.startswith("refs/"):
        refs = api.list_repo_refs(repo_id, repo_type=kind)
        if revision not in {ref.name for ref in refs.branches}:
            raise PolyprobeError(f"--revision {revision!r} is not a branch of {repo_id}; use one")
    head = str(info.sha)
    entries = api.list_repo_tree(repo_id, repo_type=kind, revision=head, recursive=True)
    # The Hub names the content of a large file by its SHA-256, any other by its git id.
    files = {
        entry.path: entry.lfs.sha256 if entry.lfs else entry.blob_id
        for entry in entries
        if isinstance(entry, RepoFile)
    }
    return Remote(bool(info.private), head, branch, files)


def check_ours(api: HfApi, repo_id: str, kind: str, remote: Remote) -> None:
    """Refuse a repository that has files but no commit of a push.

    Raises:
        PolyprobeError: a push would overwrite or delete files of others.
    """
    if not remote.exists:
        return
    commits = api.list_repo_commits(repo_id, repo_type=kind, revision=remote.head)
    if any(PUSHED.search(commit.title) for commit in commits):
        return
    others = sorted(set(remote.files) - MADE_BY_THE_HUB)
    if others or len(commits) > 1:
        shown = ", ".join(others[:3] or sorted(remote.files)) + (", …" if others[3:] else "")
        raise PolyprobeError(
            f"{repo_id} has files that are not from a push ({shown}), and would overwrite them: "
            "use another name, empty the repository, or propose the files with --create-pr"
        )


def compare(source: Source, remote: Remote) -> Changes:
    """Return the changes that make the repository equal to the folder."""
    there, here = remote.files, source.files
    gone = sorted(set(there) - set(here))
    return Changes(
        added=[path for path in here if path not in there],
        changed=[path for path in here if path in there and there[path] not in ids(here[path])],
        deleted=[path for path in gone if is_published(path, source.kind)],
        same=[path for path in here if there.get(path) in ids(here[path])],
        kept=[path for path in gone if not is_published(path, source.kind)],
    )


def ids(file: File) -> tuple[str, str]:
    """Return both ids under which the Hub may know a content."""
    return file.sha256, file.git_oid

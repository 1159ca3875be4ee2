"""The steps of a push, and what they refuse."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyprobe.system.errors import PolyprobeError

if TYPE_CHECKING:  # huggingface_hub takes a second, which no other command has to wait for
    from huggingface_hub import HfApi

    from .commit import Target
    from .remote import Plan, Remote
    from .source import Source


NEXT = {
    "dataset": "load_dataset({repo!r}, {config!r}{at})",
    "space": "evaluate.load({repo!r}{at})",
}


def check_name(source: "Source", target: "Target") -> None:
    """Refuse a name that is none, or under which evaluate would not find the metric's file."""
    owner, _, name = target.repo_id.partition("/")
    if not owner or not name or "/" in name:
        raise PolyprobeError(f"{target.repo_id!r} is no OWNER/NAME; write me/{source.name}")
    if source.kind == "space" and name != source.name:
        raise PolyprobeError(
            f"a metric's repository has its name: evaluate.load({target.repo_id!r}) looks for "
            f"{name}.py in it; push to {owner}/{source.name}"
        )


def look_at(api: "HfApi", source: "Source", target: "Target") -> "Remote":
    """Return what the Hub has, refused where a push would do what nobody asked for."""
    from .failures import explain_hub
    from .remote import check_ours, read_remote

    with explain_hub(target.repo_id):
        remote = read_remote(api, target.repo_id, source.kind, target.revision)
        if not target.create_pr:
            check_ours(api, target.repo_id, source.kind, remote)
    check_visibility(target, remote)
    if target.create_pr and not remote.branch:
        what = f"branch {target.revision} of " if remote.exists else ""
        raise PolyprobeError(
            f"there is no {what}{target.repo_id} to open a pull request in; leave out --create-pr"
        )
    return remote


def check_visibility(target: "Target", remote: "Remote") -> None:
    """Refuse `--private` for a repository that everybody sees: a push does not hide it."""
    if target.private and remote.private is False:
        raise PolyprobeError(
            f"{target.repo_id} is public already; make it private in its settings, or leave out "
            "--private"
        )


def find_refusal(
    card: dict, target: "Target", remote: "Remote", despite: Sequence[str]
) -> str | None:
    """Return why the data may not be published, None if it may or will be seen by its owner alone.

    Each licence that stands against it must be named by `--despite-license`.
    """
    from .licences import find_objections

    if target.private if remote.private is None else remote.private:
        return None
    for licence, reason in find_objections(card).items():
        if licence not in despite:
            return (
                f"the card's licence is {licence!r}: {reason}; push it with --private, or, if you "
                f"have the right to publish it, with --despite-license {licence}"
            )
    return None


def tell_plan(source: "Source", plan: "Plan") -> str:
    """Return the counts of a plan as words."""
    size = sum(source.files[path].size for path in plan.uploads)
    return (
        f"{len(plan.added)} files added, {len(plan.changed)} changed ({size:,} bytes), "
        f"{len(plan.deleted)} deleted, {len(plan.same)} as they were"
    )


def usage(source: "Source", target: "Target", card: dict, revision: str) -> str:
    """Return the line that loads what was pushed."""
    configs = card.get("configs") or [{"config_name": "default"}]
    default = next((c for c in configs if c.get("default")), configs[0])["config_name"]
    at = "" if revision == "main" else f", revision={revision!r}"
    return NEXT[source.kind].format(repo=target.repo_id, config=default, at=at)

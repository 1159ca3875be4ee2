"""The Hub's client in this process, for the stand-in, with a token and without waits."""

import time
from types import SimpleNamespace
from urllib.parse import quote
from urllib.request import Request, urlopen

import huggingface_hub
import pytest
from huggingface_hub import HfApi, constants

from polyprobe.cli.publish import push
from polyprobe.publish.source import address_card, read_source

TOKEN = "hf_abcdefghijklmnopqrstuvwxyz012345"


@pytest.fixture
def api(hub, monkeypatch) -> HfApi:
    """An HfApi of the stand-in, with the token of `me`, that does not wait between retries."""
    hub.tokens[TOKEN] = hub_token("me")
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    at_once = SimpleNamespace(**vars(time) | {"sleep": lambda seconds: None})
    monkeypatch.setattr(huggingface_hub.utils._http, "time", at_once)
    return HfApi()


def hub_token(user, **rights):
    from tests.hub.messages import Token

    return Token(user, **rights)


OPTIONS = {
    "private": False,
    "revision": "main",
    "create_pr": False,
    "dry_run": False,
    "despite_license": None,
}


def run(folder, repo, **options):
    push(folder, repo, **OPTIONS | options)


def held(api, repo, kind="dataset", revision="main"):
    """{path: content} of the files on the Hub at a revision, by plain HTTP."""
    names = api.list_repo_files(repo, repo_type=kind, revision=revision)
    at = f"{api.endpoint}/{kind}s/{repo}/resolve/{quote(revision, safe='')}"
    head = {"Authorization": f"Bearer {TOKEN}"}
    return {
        name: urlopen(Request(f"{at}/{name}", headers=head)).read()
        for name in names
        if name != ".gitattributes"
    }


def contents(folder, repo=None):
    """{path: content} that a push to a repository sends, by default to me/NAME."""
    source = address_card(read_source(folder), repo or f"me/{folder.name}")
    return {name: file.path.read_bytes() for name, file in source.files.items()}


def messages(api, repo, kind="dataset", revision="main"):
    return [c.title for c in api.list_repo_commits(repo, repo_type=kind, revision=revision)]

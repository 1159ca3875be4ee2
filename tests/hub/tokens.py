"""Tokens of the stand-in Hub and their permissions."""

from typing import Any, NamedTuple

DATE = "2026-01-01T00:00:00.000Z"


class Token(NamedTuple):
    """A user's access token.

    `role` is one of read, write and fineGrained; `organisations` are the organisations with
    write permission; `writes`, for a fine-grained token only, the writable namespaces and
    repositories (OWNER/NAME).
    """

    user: str
    role: str = "write"
    organisations: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def owns(self, namespace: str) -> bool:
        """Return whether the user belongs to a namespace, independently of the token."""
        return namespace in (self.user, *self.organisations)

    def may_write(self, name: str) -> bool:
        """Tell whether the token may write the repository OWNER/NAME."""
        namespace = name.split("/")[0]
        if self.role == "fineGrained" and not {namespace, name} & {*self.writes}:
            return False
        return self.role != "read" and self.owns(namespace)

    def whoami(self) -> dict[str, Any]:
        """Return the answer of `/api/whoami-v2`; without the token."""
        return {
            "type": "user",
            "id": user_id(self.user),
            "name": self.user,
            "fullname": self.user.title(),
            "email": f"{self.user}@example.org",
            "emailVerified": True,
            "canPay": False,
            "isPro": False,
            "avatarUrl": "",
            "orgs": [describe_organisation(name) for name in self.organisations],
            "auth": {"type": "access_token", "accessToken": self.describe()},
        }

    def describe(self) -> dict[str, Any]:
        """Return the token's name, role and, if fine-grained, its scopes."""
        told = {"displayName": "test", "role": self.role, "createdAt": DATE}
        if self.role != "fineGrained":
            return told
        rights = ["repo.content.read", "repo.write"]
        scoped = [
            {
                "entity": {"_id": user_id(name), "type": type_of(name), "name": name},
                "permissions": rights,
            }
            for name in self.writes
        ]
        return told | {"fineGrained": {"canReadGatedRepos": False, "global": [], "scoped": scoped}}


def describe_organisation(name: str) -> dict[str, Any]:
    """Return an organisation as `whoami` lists it."""
    told = {"type": "org", "id": user_id(name), "name": name, "fullname": name.title()}
    return told | {"isEnterprise": False, "avatarUrl": "", "roleInOrg": "write"}


def type_of(name: str) -> str:
    """Return the repository or user of a fine-grained token's scope."""
    return "model" if "/" in name else "user"


def user_id(name: str) -> str:
    """Return 24 hexadecimal digits derived from a name."""
    return name.encode().hex().ljust(24, "0")[:24]

"""Keycloak, an OpenID provider of Maven Central: `python -m tests.browser.keycloak`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from streams.core.errors import EddyError, InfrastructureError
from streams.kafka.embedded.child import Child
from tests.integration import maven
from tests.integration.maven import CentralUnreachableError, program
from tests.ports import own_port

VERSION: Final = "25.0.6"  # the last for Java 17
CACHE = Path(__file__).parents[2] / ".cache" / "keycloak"
REALM: Final = "ops"
PASSWORD: Final = "a password of a test"
_START_SECONDS = 240.0
_POLL_SECONDS = 0.2


def fetched() -> Path:
    """Return its folder, fetching it when it is not there yet. It raises what `maven.fetched` does."""
    return maven.fetched(CACHE / VERSION, f"org.keycloak:keycloak-quarkus-dist:{VERSION}:zip", _unpacked)


def _unpacked(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder / f"keycloak-{VERSION}"


class Keycloak:
    """A running Keycloak, as its administrator sees it.

    Args:
        address: Where it listens.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.issuer = f"{address}/realms/{REALM}"

    def create(self, users: Mapping[str, tuple[str, ...]], client: str, secret: str, console: str) -> None:
        """Make a realm, people in groups, and a client that gets the groups in its tokens.

        Args:
            users: Groups of each person.
            client: Name of the console.
            secret: Password of the console.
            console: Address of the console.
        """
        groups = sorted({group for each in users.values() for group in each})
        mapper = {
            "name": "groups",
            "protocol": "openid-connect",
            "protocolMapper": "oidc-group-membership-mapper",
            "config": {"claim.name": "groups", "full.path": "false", "id.token.claim": "true"},
        }
        self.ask(
            "POST",
            "/admin/realms",
            {
                "realm": REALM,
                "enabled": True,
                "sslRequired": "none",
                "groups": [{"name": group} for group in groups],
                "users": [_user(name, member_of) for name, member_of in users.items()],
                "clients": [
                    {
                        "clientId": client,
                        "secret": secret,
                        "redirectUris": [f"{console}/login/openid/callback"],
                        "attributes": {
                            "post.logout.redirect.uris": f"{console}/login",
                            "pkce.code.challenge.method": "S256",
                        },
                        "protocolMappers": [mapper],
                    }
                ],
            },
        )

    def change_keys(self) -> None:
        """Let it sign with a new key from now on."""
        kind = "org.keycloak.keys.KeyProvider"
        config = {"priority": ["200"], "keySize": ["2048"]}
        key = {"name": "new", "providerId": "rsa-generated", "providerType": kind, "config": config}
        self.ask("POST", f"/admin/realms/{REALM}/components", key)

    def ask(self, method: str, path: str, told: Mapping[str, Any]) -> None:
        """Tell it something as its administrator."""
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            self.address + path, json.dumps(told).encode(), headers, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status in (201, 204), answer.status

    def _token(self) -> str:
        form = {
            "grant_type": "password",
            "client_id": "admin-cli",
            "username": "admin",
            "password": PASSWORD,
        }
        url = f"{self.address}/realms/master/protocol/openid-connect/token"
        with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode(), timeout=60) as answer:
            return str(json.load(answer)["access_token"])

    def answers(self) -> bool:
        """Tell whether it has begun."""
        try:
            with urllib.request.urlopen(f"{self.address}/realms/master", timeout=30) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError):
            return False


def _user(name: str, groups: tuple[str, ...]) -> dict[str, Any]:
    return {
        "username": name,
        "email": f"{name}@ops.example",
        "emailVerified": True,
        "firstName": name,
        "lastName": "Tester",
        "enabled": True,
        "groups": list(groups),
        "credentials": [{"type": "password", "value": PASSWORD}],
    }


@contextmanager
def running_keycloak() -> Iterator[Keycloak]:
    """Run one for as long as the block lasts."""
    port = own_port()
    program("java")
    options = [
        "--db=dev-mem", "--cache=local", "--http-host=127.0.0.1", f"--http-port={port}",
        "--legacy-observability-interface=true",
    ]  # fmt: skip
    command = ["bash", str(fetched() / "bin" / "kc.sh"), "start-dev", *options]
    environment = {
        **os.environ,
        "KEYCLOAK_ADMIN": "admin",
        "KEYCLOAK_ADMIN_PASSWORD": PASSWORD,
        "JAVA_OPTS_KC_HEAP": "-Xmx512m",
    }
    scratch = Path(tempfile.mkdtemp(prefix="eddy-keycloak-"))
    with Child(command, scratch=scratch, environment=environment) as child:
        # Another site than 127.0.0.1, where the console is: browsers keep cookies of the two apart.
        keycloak = Keycloak(f"http://localhost:{port}")
        deadline = time.monotonic() + _START_SECONDS
        while not keycloak.answers():
            if child.ended(within=_POLL_SECONDS) or time.monotonic() > deadline:
                raise InfrastructureError(f"Keycloak does not answer:\n{child.said()}")
        yield keycloak


def main() -> int:
    """Fetch it; return 75 (try later) if that cannot be done now."""
    try:
        fetched()
    except CentralUnreachableError as error:
        sys.stderr.write(f"{error}\n")
        return os.EX_TEMPFAIL
    except EddyError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A model of rights, written without the code it judges, and random requests of every kind of key to every route.

`python -m tests.api.policies.rights_model 10000 22` sends so many with keys of each kind, drawn from this seed, and
reports the slowest, in seconds of CPU: of the whole process, with what its stages do meanwhile.
"""

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from api.policies import api_keys
from schemas.events import KeyChanged
from tests.support.service_world import ADMIN, RunningService, running_service

ALL = ("read", "write", "forget", "connect", "admin")
ROLES = {"read": ("read",), "write": ("read", "write", "forget", "connect"), "admin": ALL}
NAMESPACES = ("home", "team-a:1", "team-a:2", "other")
PATTERNS = (None, ("home",), ("team-a:*",), ("home", "team-a:1"), ("o*",))
MARKERS = {name: f"marker{number}quolx" for number, name in enumerate(NAMESPACES)}
SLOWEST_SECONDS = 2.0
_KINDS_DRAWN = {*(f"only {scope}" for scope in ALL[:-1]), "several scopes", "admin of some namespaces"}
"""Kinds of key of which a seed may draw none among the first ones."""
_REPLANT_EVERY = 200
_BUSY_SECONDS = 300
_BUSY = ("Too many requests are waiting", "No progress for")
_ACCEPTED = {"accept": "application/json, text/event-stream"}
_CHANCE_OF_AN_ISSUER, _CHANCE_OF_ALL_SCOPES, _CHANCE_OF_AN_END = 0.5, 0.3, 0.1

# What each route needs: scopes joined by `+` (all) or `|` (one); `*`: a key for all namespaces.
NEEDS = {
    "read": """
        POST /ns/{ns}/search; POST /ns/{ns}/profile; GET /ns/{ns}/profile/buckets; GET /ns/{ns}/document/{id};
        POST /ns/{ns}/list/documents/memory-counts; POST /ns/{ns}/list/{type}; GET /ns/{ns}/memories/{id};
        POST /ns/{ns}/explain/search; POST /ns/{ns}/explain/profile; GET /ns/{ns}/explain/documents/{id};
        GET /ns/{ns}/explain/chunks/{id}; GET /ns/{ns}/explain/memories/{id}; GET /ns/{ns}/explain/graph;
        GET /ns/{ns}/explain/memories;
        GET /ns/{ns}/explain/feed; POST /ns/{ns}/explain/missing; GET /ns/{ns}/explain/originals/{id};
        GET /ns/{ns}/explain/pages/{id}; GET /ns/{ns}/explain/page-pictures/{id}; GET /ns/{ns}/explain/page-texts/{id};
        GET /ns/{ns}/explain/reviews; GET /ns/{ns}/explain/questions;
        GET /ns; GET /namespaces; GET /ns/{ns}; GET /organization; GET /admin/growth;
        POST /v3/search; POST /v4/search; POST /v4/profile; POST /v4/profile/buckets; POST /v3/documents/list;
        GET /v3/documents/processing; GET /v3/documents/{id}/chunks; GET /v3/documents/{id}/file-url;
        GET /v3/documents/{id}; POST /v4/memories/list; GET /v3/container-tags/merge/{id};
        GET /v3/container-tags/{ns}; GET /v3/settings; POST /v3/settings/suggest-buckets""",
    "write": """
        PUT /ns/{ns}/profile/buckets; DELETE /ns/{ns}/profile/buckets; POST /ns/{ns}/document;
        POST /ns/{ns}/document/batch; POST /ns/{ns}/document/file; POST /ns/{ns}/document/file/{id};
        PATCH /ns/{ns}/document/file/{id}; PATCH /ns/{ns}/document/{id}; PATCH /ns/{ns};
        POST /v3/documents; POST /v3/documents/batch; POST /v3/documents/file; PATCH /v3/documents/{id};
        POST /v4/conversations; POST /v4/memories; PATCH /v4/memories; PATCH /v3/container-tags/{ns}""",
    "forget": """
        DELETE /ns/{ns}/document; DELETE /ns/{ns}; DELETE /v3/documents/bulk; DELETE /v3/documents/{id};
        DELETE /v4/memories; DELETE /v3/container-tags/{ns}""",
    "forget+read": "DELETE /ns/{ns}/memories; DELETE /ns/{ns}/memories/semantic; POST /v4/memories/forget-matching",
    "forget+read+write": "POST /ns/{ns}/explain/redactions; POST /ns/{ns}/explain/corrections",
    "forget+write": "POST /v3/container-tags/merge",
    "connect|read": """
        GET /connectors; GET /ns/{ns}/connectors; GET /ns/{ns}/connectors/{id}; POST /v3/connections/list;
        POST /v3/connections/{provider}/connection; POST /v3/connections/{provider}/documents;
        GET /v3/connections/{id}/resources; GET /v3/connections/{id}""",
    "connect": """
        POST /ns/{ns}/connectors; POST /ns/{ns}/connectors/{id}/sync; PATCH /ns/{ns}/connectors/{id};
        POST /v3/connections/{provider}/import; POST /v3/connections/{id}/configure; POST /v3/connections/{provider}""",
    "connect+read": """
        POST /ns/{ns}/explain/questions; PATCH /ns/{ns}/explain/questions/{id};
        DELETE /ns/{ns}/explain/questions/{id}; POST /ns/{ns}/explain/questions/{id}/rotate;
        POST /ns/{ns}/explain/questions/{id}/test; POST /ns/{ns}/explain/questions/{id}/dead-letters""",
    "connect+forget": "DELETE /ns/{ns}/connectors/{id}; DELETE /v3/connections/{provider_or_id}",
    "admin": """
        POST /admin/keys; GET /admin/keys; PATCH /admin/keys/{id}; POST /admin/keys/{id}/rotate;
        DELETE /admin/keys/{id}; GET /admin/usage; GET /ns/{ns}/explain/recall-log;
        PUT /ns/{ns}/explain/recall-log""",
    "admin*": """
        PATCH /organization; GET /admin/status; GET /admin/dlq; POST /admin/dlq/redrive; DELETE /admin/dlq;
        GET /admin/buckets; PUT /admin/buckets; DELETE /admin/buckets; GET /admin/replay; POST /admin/replay/plan;
        POST /admin/replay; DELETE /admin/replay; POST /admin/replay/rollback; POST /admin/replay/clean-up;
        GET /admin/audit; PATCH /v3/settings; POST /v3/settings/reset""",
    "admin+read*": "GET /admin/failed; GET /admin/dlq/record; GET /admin/export; GET /admin/blobs/{sha256}",
    "admin+write*": "POST /admin/blobs; POST /admin/import",
    "admin+forget*": "POST /admin/erasures",
    "admin+connect*": """
        GET /admin/connectors; POST /admin/connectors/rotate-credentials; POST /admin/connectors/{id}/sync;
        POST /admin/connectors/{id}/check; POST /admin/connectors/{id}/reconnect;
        PUT /admin/connectors/{id}/schedule; PUT /admin/connectors/{id}/options""",
    "": "GET /admin/whoami",
}
ROUTES = {route.strip(): needs for needs, routes in NEEDS.items() for route in routes.split(";")}
OPEN_ROUTES = {"POST /feedback"}
NOT_SENT = {"GET /ns/{ns}/explain/feed", "POST /admin/replay", "POST /admin/replay/rollback", "POST /v3/settings/reset"}
"""They never end, or change the service for all later requests: sent only with keys that must be refused."""

MCP = "POST /mcp"
"""Its tools need what the routes need that they call."""
TOOLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "search_memory": ("read", {"query": "marker of Ada", "namespace": "{ns}"}),
    "add_memory": ("write", {"content": "Plain words.", "namespace": "{ns}"}),
    "forget_memory": ("forget+read", {"namespace": "{ns}", "query": "marker of Ada", "dryRun": True}),
    "get_profile": ("read", {"namespace": "{ns}"}),
    "list_documents": ("read", {"namespace": "{ns}"}),
    "get_document": ("read", {"id": "planted", "namespace": "{ns}"}),
}
UNKNOWN = "rk_x_y"
FILE = {"file": ("a.txt", b"Plain words.", "text/plain")}
BODIES: Mapping[str, Any] = {
    "POST /ns/{ns}/search": {"query": "marker of Ada"},
    "POST /ns/{ns}/profile": {},
    "PUT /ns/{ns}/profile/buckets": {"buckets": {"b": "A bucket."}},
    "DELETE /ns/{ns}/profile/buckets": {"buckets": ["b"]},
    "POST /ns/{ns}/document": {"content": "Plain words."},
    "POST /ns/{ns}/document/batch": {"documents": [{"content": "Plain words."}]},
    "PATCH /ns/{ns}/document/{id}": {"metadata": {"seen": True}},
    "DELETE /ns/{ns}/document": {"ids": ["gone"]},
    "POST /ns/{ns}/list/documents/memory-counts": {"ids": ["planted"]},
    "POST /ns/{ns}/list/{type}": {"include": {"content": True}},
    "DELETE /ns/{ns}/memories": {"ids": ["none"]},
    "DELETE /ns/{ns}/memories/semantic": {"query": "marker of Ada", "dryRun": True},
    "POST /ns/{ns}/explain/search": {"query": "marker of Ada"},
    "POST /ns/{ns}/explain/missing": {"query": "marker of Ada", "document": "planted"},
    "POST /ns/{ns}/explain/profile": {},
    "PUT /ns/{ns}/explain/recall-log": {"recallLog": True},
    "POST /ns/{ns}/explain/redactions": {"ids": ["none"], "dryRun": True},
    "POST /ns/{ns}/explain/corrections": {"action": "forget", "id": "none"},
    "PATCH /ns/{ns}": {"supportingContext": "Plain words."},
    "PATCH /organization": {"organizationalContext": "Plain words."},
    "POST /ns/{ns}/connectors": {"provider": "web-crawler", "config": {"startUrl": "https://example.com/"}},
    "PATCH /ns/{ns}/connectors/{id}": {"documentLimit": 5},
    "POST /admin/keys": {"name": "made", "role": "read", "namespaces": ["home"]},
    "PATCH /admin/keys/{id}": {"name": "renamed"},
    "POST /admin/keys/{id}/rotate": {},
    "PUT /admin/buckets": {"buckets": {"all": "A bucket."}},
    "DELETE /admin/buckets": {"buckets": ["all"]},
    "POST /admin/replay/plan": {},
    "POST /admin/replay": {},
    "POST /admin/connectors/{id}/sync": {},
    "POST /admin/connectors/{id}/reconnect": {},
    "PUT /admin/connectors/{id}/schedule": {"syncIntervalHours": 4},
    "PUT /admin/connectors/{id}/options": {"include": ["*.md"]},
    "POST /admin/erasures": {"namespace": "home", "dryRun": True},
    "POST /v3/search": {"q": "marker of Ada", "containerTags": ["{ns}"]},
    "POST /v4/search": {"q": "marker of Ada", "containerTag": "{ns}"},
    "POST /v4/profile": {"q": "marker of Ada", "containerTag": "{ns}"},
    "POST /v4/profile/buckets": {"containerTag": "{ns}"},
    "POST /v3/documents": {"content": "Plain words.", "containerTag": "{ns}"},
    "POST /v3/documents/batch": {"documents": ["Plain words."], "containerTag": "{ns}"},
    "POST /v3/documents/list": {"containerTags": ["{ns}"], "includeContent": True},
    "DELETE /v3/documents/bulk": {"containerTags": ["{ns}"], "filepath": "/none"},
    "PATCH /v3/documents/{id}": {"metadata": {"seen": True}},
    "POST /v4/conversations": {
        "conversationId": "c", "messages": [{"role": "user", "content": "Plain words."}], "containerTags": ["{ns}"],
    },
    "POST /v4/memories": {"memories": [{"content": "Plain words."}], "containerTag": "{ns}"},
    "PATCH /v4/memories": {"id": "none", "newContent": "Plain words.", "containerTag": "{ns}"},
    "DELETE /v4/memories": {"id": "none", "containerTag": "{ns}"},
    "POST /v4/memories/forget-matching": {"query": "marker of Ada", "dryRun": True, "containerTag": "{ns}"},
    "POST /v4/memories/list": {"containerTags": ["{ns}"]},
    "POST /v3/container-tags/merge": {"containerTags": ["{ns}"], "targetContainerTag": "{ns}x"},
    "PATCH /v3/container-tags/{ns}": {"entityContext": "Plain words."},
    "PATCH /v3/settings": {"filterPrompt": "Plain words."},
    "POST /v3/connections/list": {"containerTags": ["{ns}"]},
    "POST /v3/connections/{provider}/connection": {"containerTags": ["{ns}"]},
    "POST /v3/connections/{provider}/documents": {"containerTags": ["{ns}"]},
    "POST /v3/connections/{provider}/import": {"containerTags": ["{ns}"]},
    "POST /v3/connections/{provider}": {"containerTags": ["{ns}"], "metadata": {"startUrl": "https://example.com/"}},
    "DELETE /v3/connections/{provider_or_id}": {"containerTags": ["{ns}"]},
}  # fmt: skip
FORMS = {
    "POST /ns/{ns}/document/file", "POST /ns/{ns}/document/file/{id}", "PATCH /ns/{ns}/document/file/{id}",
    "POST /v3/documents/file",
}  # fmt: skip
QUERIES = {
    "GET /admin/growth": "?namespace={ns}",
    "GET /admin/dlq/record": "?id=a/0/0",
    "DELETE /admin/dlq": "?topic=a",
}


@dataclass(frozen=True)
class TestKey:
    """A key as the model knows it. `valid` False: unknown, expired, revoked, or below such a key."""

    secret: str | None
    scopes: frozenset[str]
    patterns: Sequence[str] | None
    valid: bool = True

    __test__ = False

    @property
    def kind(self) -> str:
        """The kind of key, of which each gets as many requests."""
        if self.secret is None:
            return "none"
        if not self.valid:
            return "unknown" if self.secret == UNKNOWN else "expired, revoked, or below such a key"
        if "admin" in self.scopes:
            return f"admin of {'all' if self.patterns is None else 'some'} namespaces"
        return "several scopes" if len(self.scopes) > 1 else f"only {''.join(self.scopes) or 'nothing'}"

    def covers(self, namespace: str) -> bool:
        """Tell whether the key is for the namespace."""
        if self.patterns is None:
            return True
        return any(
            namespace.startswith(pattern[:-1]) if pattern.endswith("*") else namespace == pattern
            for pattern in self.patterns
        )


def is_granted(route: str, key: TestKey, namespaces: Sequence[str]) -> bool:
    """Decide by the table whether a valid key may make this request, which is about these namespaces."""
    needs = ROUTES[route]
    if needs.endswith("*") and key.patterns is not None:
        return False
    wanted = needs.removesuffix("*")
    has = (
        any(scope in key.scopes for scope in wanted.split("|"))
        if "|" in wanted
        else all(scope in key.scopes for scope in wanted.split("+") if scope)
    )
    return has and all(key.covers(namespace) for namespace in namespaces)


@dataclass
class Trial:
    """Random requests to a running service, each judged."""

    service: RunningService
    chance: random.Random
    keys: list[TestKey] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")

    async def make_keys(self, count: int) -> None:
        """Issue keys of all kinds: roles, scopes, namespaces, expired, revoked, and chains of them."""
        self.keys += [TestKey(None, frozenset(), None, valid=False), TestKey(UNKNOWN, frozenset(), None, valid=False)]
        self.keys.append(TestKey(ADMIN, frozenset(ALL), None))
        issuers: list[tuple[KeyChanged, TestKey]] = []
        while count > 0 or not {key.kind for key in self.keys} >= _KINDS_DRAWN:
            count -= 1
            has_issuer = bool(issuers) and self.chance.random() < _CHANCE_OF_AN_ISSUER
            issuers.append(await self._issue(self.chance.choice(issuers) if has_issuer else None))
            self.keys.append(issuers[-1][1])

    async def _issue(self, issuer: tuple[KeyChanged, TestKey] | None) -> tuple[KeyChanged, TestKey]:
        state = self.service.app.state.recollect.state
        now = state.clock.now()
        role = self.chance.choice(list(ROLES))
        scopes = (
            None
            if self.chance.random() < 0.3
            else self.chance.sample(ROLES[role], self.chance.randint(1, len(ROLES[role])))
        )
        patterns = self.chance.choice(PATTERNS)
        expired, revoked = (self.chance.random() < _CHANCE_OF_AN_END for _ in range(2))
        change, secret = api_keys.create_key(
            "made",
            role,  # type: ignore[arg-type]  # a role by construction
            patterns,
            now=now,
            expires_at=now - timedelta(seconds=1) if expired else None,
            issuer=None if issuer is None else issuer[0].id,
            scopes=None if scopes is None else tuple(scopes),
        )
        if revoked:
            change = api_keys.revoke_key(change, now)
        await api_keys.publish_keys([change], state.publisher, state.settings_lock)
        above = frozenset(ALL) if issuer is None else issuer[1].scopes
        valid = not (expired or revoked) and (issuer is None or issuer[1].valid)
        return change, TestKey(secret, frozenset(scopes or ROLES[role]) & above, patterns, valid)

    async def plant(self) -> None:
        """Put a document with its marker into each namespace."""
        for name, marker in MARKERS.items():
            text = f"Ada keeps the marker {marker} in Porto. Ada lives in {marker}."
            await self.service.client("POST", f"/ns/{name}/document", {"id": "planted", "content": text})

    async def run(self, requests: int) -> None:
        """Send requests; AssertionError names the first whose answer is above or below the key's rights."""
        sent = [route for route in ROUTES if route not in NOT_SENT] + [MCP] * len(TOOLS)
        # The first message loads the SDK, which takes a second of CPU.
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        await self._send(TestKey(ADMIN, frozenset(ALL), None), MCP, "POST", "/mcp", json=ping, headers=_ACCEPTED)
        self.slowest = (0.0, "")
        kinds: dict[str, list[TestKey]] = {}
        for key in self.keys:
            kinds.setdefault(key.kind, []).append(key)
        for number in range(requests):
            if number % _REPLANT_EVERY == 0:
                await self.plant()
            kind = list(kinds)[number % len(kinds)]
            self.kinds[kind] += 1
            key, route = self.chance.choice(kinds[kind]), self.chance.choice(sent)
            await (self._call_tool(key) if route == MCP else self._ask(route, key))
        for route in sorted(NOT_SENT):
            for key in self.keys:
                if not (key.valid and is_granted(route, key, ())):
                    await self._ask(route, key)

    async def _call_tool(self, key: TestKey) -> None:
        ns, name = self.chance.choice(NAMESPACES), self.chance.choice(list(TOOLS))
        needs, arguments = TOOLS[name]
        params = {"name": name, "arguments": _filled(arguments, ns)}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        response = await self._send(key, f"{MCP} {name}", "POST", "/mcp", json=call, headers=_ACCEPTED)
        granted = key.valid and key.covers(ns) and key.scopes >= set(needs.split("+"))
        self.counts["granted" if granted else "refused"] += 1
        said = f"{name} in {ns} with {key}: {response.status_code} {response.text[:300]}"
        assert response.status_code == (200 if key.valid else 401), said
        if key.valid and not granted:
            assert response.json()["result"]["isError"], said
        self._judge_markers(key, response, said, granted=granted)

    async def _ask(self, route: str, key: TestKey) -> None:
        ns = self.chance.choice(NAMESPACES)
        method, path = self._address(route, ns)
        names_namespace = "{ns}" in route or "{ns}" in str(BODIES.get(route, "")) or "{ns}" in QUERIES.get(route, "")
        about = [] if not names_namespace else [ns, f"{ns}x"] if route.endswith("/merge") else [ns]
        if route == "POST /v3/documents/file":
            about = [ns]
        options: dict[str, Any] = {"json": _filled(BODIES[route], ns)} if route in BODIES else {}
        if route in FORMS:
            options = {"files": FILE | ({"containerTag": (None, ns)} if route.startswith("POST /v3") else {})}
        if route in {"POST /admin/blobs", "POST /admin/import"}:
            options = {"content": b'{"kind":"end","documents":0}\n'}
        response = await self._send(key, f"{method} {path}", method, path, **options)
        self._judge(route, key, about, response, f"{method} {path} {options} with {key}")

    async def _send(self, key: TestKey, name: str, method: str, path: str, **options: Any) -> httpx2.Response:
        """Send a request, again while the service is too busy for any answer, as on an overloaded machine."""
        client = self.service.client.as_key(key.secret)
        async with asyncio.timeout(_BUSY_SECONDS):
            while True:
                started = time.process_time()
                response = await client(method, path, **options)
                if response.status_code != 503 or not any(reason in response.text for reason in _BUSY):
                    self.slowest = max(self.slowest, (time.process_time() - started, name))
                    return response
                await asyncio.sleep(1)

    def _judge(self, route: str, key: TestKey, about: Sequence[str], response: httpx2.Response, what: str) -> None:
        said = f"{what}: {response.status_code} {response.text[:300]}"
        granted = key.valid and is_granted(route, key, about)
        self.counts["granted" if granted else "refused"] += 1
        if not key.valid:
            assert response.status_code == 401, said
        elif granted:
            self._judge_granted(route, key, response, said)
        else:
            assert response.status_code == 403, said
        self._judge_markers(key, response, said, granted=granted)

    @staticmethod
    def _judge_markers(key: TestKey, response: httpx2.Response, said: str, *, granted: bool) -> None:
        for name, marker in MARKERS.items():
            may_read = granted and "read" in key.scopes and key.covers(name)
            assert may_read or marker not in response.text, f"shows {name}: {said}"

    def _judge_granted(self, route: str, key: TestKey, response: httpx2.Response, said: str) -> None:
        is_beyond_own_grant = (
            route.startswith(("POST /admin/keys", "PATCH /admin/keys")) and response.status_code == 403
        )
        assert response.status_code != 401, said
        assert response.status_code < 500 or response.status_code in {501, 503}, said
        if is_beyond_own_grant:
            assert not (key.patterns is None and key.scopes == frozenset(ALL)), said
        else:
            assert response.status_code != 403, said

    def _address(self, route: str, ns: str) -> tuple[str, str]:
        method, template = route.split(" ")
        known = [key.secret.split("_")[1] for key in self.keys if key.secret and key.secret != ADMIN]
        path = template.replace("{ns}", ns).replace("{type}", self.chance.choice(["documents", "chunks", "memories"]))
        path = path.replace("{sha256}", "0" * 64).replace("{provider_or_id}", "web-crawler")
        path = path.replace("{provider}", "web-crawler")
        some_id = self.chance.choice(["planted", "none", *known[:3]]) if "/admin/keys" not in path else "none"
        return method, path.replace("{id}", some_id) + QUERIES.get(route, "").replace("{ns}", ns)


def _filled(value: Any, ns: str) -> Any:
    if isinstance(value, str):
        return value.replace("{ns}", ns)
    if isinstance(value, dict):
        return {name: _filled(item, ns) for name, item in value.items()}
    return [_filled(item, ns) for item in value] if isinstance(value, list) else value


async def _report(requests: int, seed: int) -> str:
    with TemporaryDirectory() as folder:
        async with running_service(Path(folder) / "data") as service:
            trial = Trial(service, random.Random(seed))  # noqa: S311 - the same trial each time
            await trial.make_keys(200)
            await trial.run(requests * len({key.kind for key in trial.keys}))
            assert trial.slowest[0] < SLOWEST_SECONDS, trial.slowest
            kinds = "\n".join(f"{count:>8} {kind}" for kind, count in sorted(trial.kinds.items()))
            return f"{kinds}\n{dict(trial.counts)}, slowest {trial.slowest[0]:.2f} s: {trial.slowest[1]}"


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(_report(*map(int, sys.argv[1:]))) + "\n")

"""S3: session tokens, the service's role, public buckets, and prefixes that look like paths."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from connectors.errors import ConnectorError, MisconfigurationError, UnusableSourceError
from connectors.providers.s3.credentials import ServiceRole
from connectors.providers.s3.provider import S3
from tests.support.connectors.in_memory_sync import InMemorySync, connect, http_clients
from tests.support.http_stub import StubResponse, stub_server
from tests.support.providers.s3_double import BucketPrefix
from tools.s3_server import S3Server

pytestmark = pytest.mark.anyio
ENDPOINT = "https://store.test"


@dataclass
class BucketApp:
    """A bucket that remembers the headers of each request."""

    keys: tuple[str, ...] = ("docs/a.txt",)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        self.headers.append({name.decode().lower(): value.decode() for name, value in scope["headers"]})
        self.paths.append(scope["raw_path"].decode())
        query = httpx2.QueryParams(scope["query_string"].decode())
        body = b"Text"
        if "list-type" in query:
            found = (key for key in self.keys if key.startswith(query.get("prefix", "")))
            listed = "".join(
                f"<Contents><Key>{quote(key)}</Key><ETag>1</ETag><Size>4</Size>"
                "<LastModified>2026-03-01T00:00:00Z</LastModified></Contents>"
                for key in found
            )
            body = f"<ListBucketResult>{listed}</ListBucketResult>".encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


async def _run(app: ASGIApp, key_id: str, *, role: ServiceRole | None = None, prefix: str = "") -> InMemorySync:
    provider, sync = S3(role=role), InMemorySync()
    config = {"bucket": "papers", "region": "eu-west-1", "endpoint": ENDPOINT, "prefix": prefix}
    connection = connect(provider, http_clients(app, app), config=config)
    await sync.run(provider, replace(connection, secrets={"accessKeyId": key_id, "secretAccessKey": "s"}))
    return sync


async def test_keys_of_a_session_are_sent_with_their_token() -> None:
    app = BucketApp()
    sync = await _run(app, "ASIAEXAMPLE  token/+==")
    assert list(sync.items) == ["s3://papers/docs/a.txt"]
    for headers in app.headers:
        assert headers["x-amz-security-token"] == "token/+=="
        assert "Credential=ASIAEXAMPLE/" in headers["authorization"]
        assert "x-amz-security-token" in headers["authorization"]


async def test_requests_to_a_public_bucket_are_not_signed() -> None:
    app = BucketApp()
    sync = await _run(app, "anonymous")
    assert sync.items
    assert not [headers for headers in app.headers if "authorization" in headers or "x-amz-date" in headers]


@pytest.mark.parametrize("role", [None, ServiceRole(frozenset()), ServiceRole(frozenset({"papers"}))])
async def test_a_role_is_used_for_buckets_that_the_operator_names_only(role: ServiceRole | None) -> None:
    app = BucketApp()
    with pytest.raises(UnusableSourceError, match="RECOLLECT_S3_ROLE_BUCKETS"):
        await _run(app, "role", role=role)
    assert not app.headers


@pytest.fixture
def no_aws_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's account, and no hurry."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE", "ROLE_ARN"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_METADATA_SERVICE_TIMEOUT", "60")


def _keys(code: str = "Success") -> StubResponse:
    told = {"Code": code, "AccessKeyId": "ASIAROLE", "SecretAccessKey": "s", "Token": "of-the-role"}
    return StubResponse(json.dumps({**told, "Expiration": "2099-01-01T00:00:00Z"}).encode())


def _own_role() -> ServiceRole:
    return ServiceRole(frozenset({f"{ENDPOINT}/papers"}))


@pytest.mark.usefixtures("no_aws_settings")
async def test_the_role_of_a_machine_is_asked_of_its_metadata_service(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "/latest/meta-data/iam/security-credentials/"
    answers = {"/latest/api/token": StubResponse(b"session"), place: StubResponse(b"reader"), f"{place}reader": _keys()}
    async with stub_server(answers) as machine:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.url)
        app = BucketApp()
        assert (await _run(app, "role", role=_own_role())).items
        assert app.headers[-1]["x-amz-security-token"] == "of-the-role"
        assert [path for path, _, _ in machine.requests] == ["/latest/api/token", place, f"{place}reader"]
        assert machine.requests[1][1]["x-aws-ec2-metadata-token"] == "session"


@pytest.mark.usefixtures("no_aws_settings")
async def test_a_role_that_comes_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    role, app = _own_role(), BucketApp()
    with pytest.raises(MisconfigurationError, match="has no role of its own"):
        await _run(app, "role", role=role)
    async with stub_server({"/v1/credentials": _keys()}) as agent:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{agent.url}/v1/credentials")
        assert (await _run(app, "role", role=role)).items


@pytest.mark.usefixtures("no_aws_settings")
async def test_the_role_of_a_container_is_asked_of_its_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("pod-identity")
    async with stub_server({"/v1/credentials": _keys()}) as agent:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{agent.url}/v1/credentials")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
        app = BucketApp()
        assert (await _run(app, "role", role=_own_role())).items
        assert "Credential=ASIAROLE/" in app.headers[-1]["authorization"]
        assert agent.requests[0][1]["authorization"] == "pod-identity"


@pytest.mark.usefixtures("no_aws_settings")
async def test_a_web_identity_is_exchanged_for_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("kubernetes-token")
    xml = (
        "<AssumeRoleWithWebIdentityResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'>"
        "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIAWEB</AccessKeyId>"
        "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
        "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
        "</AssumeRoleWithWebIdentityResponse>"
    )
    async with stub_server({"/": StubResponse(xml.encode(), headers={"content-type": "text/xml"})}) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        app = BucketApp()
        assert (await _run(app, "role", role=_own_role())).items
        assert "Credential=ASIAWEB/" in app.headers[-1]["authorization"]
        assert b"WebIdentityToken=kubernetes-token" in sts.requests[0][2]


@pytest.mark.usefixtures("no_aws_settings")
async def test_a_service_without_a_role_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(MisconfigurationError, match="no role of its own"):
        await _run(BucketApp(), "role", role=_own_role())


@pytest.mark.parametrize(
    ("prefix", "keys", "found"),
    [
        ("/docs/", ("docs/a.txt", "other/b.txt"), {"docs/a.txt"}),
        ("/docs/", ("/docs/a.txt", "docs/b.txt"), {"/docs/a.txt"}),
        ("docs", ("docs/a.txt", "docs-old/b.txt"), {"docs/a.txt", "docs-old/b.txt"}),
        ("/", ("a.txt", "docs/b.txt"), {"a.txt", "docs/b.txt"}),
    ],
)
async def test_a_prefix_like_a_path_is_found(prefix: str, keys: tuple[str, ...], found: set[str]) -> None:
    sync = await _run(BucketApp(keys), "key", prefix=prefix)
    assert set(sync.items) == {f"s3://papers/{key}" for key in found}


async def test_keys_with_dot_segments_are_asked_as_they_are() -> None:
    app = BucketApp(("a/./b.txt", "a/../c.txt", "../d.txt"))
    assert len((await _run(app, "key")).items) == 3
    assert {"/papers/a/%2E/b.txt", "/papers/a/%2E%2E/c.txt", "/papers/%2E%2E/d.txt"} <= set(app.paths)


async def test_a_real_server_takes_the_signature_of_a_role(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = BucketPrefix(s3)
    await objects.put("a.txt", "Text")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.options["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.options["secret_access_key"])
    provider, sync = S3(role=ServiceRole(frozenset({f"{s3.endpoint}/recollect"}))), InMemorySync()
    clients = replace(http_clients(None), guarded_client=httpx2.AsyncClient())
    connection = connect(provider, clients, config=objects.config)
    await sync.run(provider, replace(connection, secrets={"accessKeyId": "role", "secretAccessKey": "role"}))
    assert list(sync.items) == [f"s3://recollect/{objects.prefix}a.txt"]
    refused = {"accessKeyId": "anonymous", "secretAccessKey": "anonymous"}
    with pytest.raises(UnusableSourceError, match="not public"):
        await sync.run(provider, replace(connection, secrets=refused))
    await clients.aclose()


@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket", "PermanentRedirect", "ExpiredToken"])
async def test_what_a_customer_can_correct_is_not_internal(code: str) -> None:
    async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
        answer = Response(f"<Error><Code>{code}</Code></Error>", 403, media_type="application/xml")
        await answer(scope, receive, send)

    with pytest.raises(ConnectorError) as failure:
        await _run(refusing, "key")
    assert failure.value.code == "auth_expired"

"""URLs are fetched from public addresses only, in bounded time and size."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ParsingError, RetryableError
from pipeline.parsing.url_fetcher import HttpFetcher
from schemas.public_addresses import Address, is_public
from tests.support.http_stub import StubResponse, gzip_bomb, stub_server

pytestmark = pytest.mark.anyio
HTML = {"content-type": "text/html; charset=utf-8"}

PRIVATE = [
    "127.0.0.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:db8::1",
    "192.0.0.9",
    "192.0.0.170",
    "192.88.99.1",
    "192.175.48.1",
    "198.18.0.1",
    "168.63.129.16",
    "100.100.100.200",
    "240.0.0.1",
    "::ffff:1.1.1.1",
    "::1.1.1.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::a83f:8110",
    "64:ff9b:1::101:101",
    "100::1",
    "2001::1",
    "2001:20::1",
    "2002:101:101::",
    "3fff::1",
    "5f00::1",
    "fec0::1",
    "fd00:ec2::254",
    "4000::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_and_reserved_addresses_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "64:ff9b::101:101"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@given(st.ip_addresses(v=4))
def test_an_address_is_as_private_in_ipv6_clothes(address: Address) -> None:
    mapped = ip_address(f"::ffff:{address}")
    assert not is_public(mapped) or is_public(address)


async def refused(fetcher: HttpFetcher, url: str) -> str:
    with pytest.raises(ParsingError) as caught:
        await fetcher.fetch(url)
    return str(caught.value)


async def test_nothing_private_is_reached_by_address_or_by_name() -> None:
    async def inside(host: str, port: int) -> list[Address]:
        return [ip_address("93.184.215.14"), ip_address("127.0.0.1")]

    async with stub_server({"/": StubResponse(b"secret", headers=HTML)}) as server:
        port = server.url.rpartition(":")[2]
        fetcher = HttpFetcher()
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"):
            assert "private" in await refused(fetcher, f"http://{host}:{port}/")
        assert "private" in await refused(HttpFetcher(resolver=inside), f"http://rebinding.test:{port}/")
        assert not server.requests


async def test_a_redirect_into_the_private_network_is_refused() -> None:
    outside, inside = ip_address("127.0.0.1"), ip_address("127.0.0.2")

    async def resolve(host: str, port: int) -> list[Address]:
        return [inside if host == "inside.test" else outside]

    answers = {"/": StubResponse(status=302, headers={"location": "http://inside.test/"})}
    async with stub_server(answers) as server:
        port = server.url.rpartition(":")[2]
        fetcher = HttpFetcher(resolver=resolve, is_allowed=lambda address: address == outside)
        assert "private" in await refused(fetcher, f"http://outside.test:{port}/")
        assert len(server.requests) == 1


async def test_each_hop_is_resolved_once_and_connected_to_that_very_address() -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[Address]:
        asked.append(host)
        return [ip_address("127.0.0.1")]

    async with stub_server({"/end": StubResponse(b"<p>here</p>", headers=HTML)}) as server:
        port = server.url.rpartition(":")[2]
        server.responses["/"] = StubResponse(status=301, headers={"location": f"http://second.test:{port}/end"})
        data, upload = await HttpFetcher(allow_private=True, resolver=resolve).fetch(f"http://first.test:{port}/")
    assert (data, upload.mime_type, upload.filename) == (b"<p>here</p>", HTML["content-type"], None)
    assert asked == ["first.test", "second.test"]
    assert [headers["host"] for _, headers, _ in server.requests] == [
        f"first.test:{port}",
        f"second.test:{port}",
    ]
    assert "recollect" in server.requests[0][1]["user-agent"]


async def test_cookies_and_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    cookie = {"set-cookie": "a=b", "location": "/next"}
    answers = {"/": StubResponse(status=302, headers=cookie), "/next": StubResponse(b"hi", headers=HTML)}
    async with stub_server(answers) as server:
        await HttpFetcher(allow_private=True).fetch(server.url + "/")
        assert all("cookie" not in headers for _, headers, _ in server.requests)


async def test_what_cannot_work_is_refused_with_a_reason() -> None:
    answers = {
        "/loop": StubResponse(status=302, headers={"location": "/loop"}),
        "/file": StubResponse(status=302, headers={"location": "file:///etc/passwd"}),
        "/user": StubResponse(status=302, headers={"location": "http://a:b@127.0.0.1/"}),
        "/bin": StubResponse(b"x", headers={"content-type": "application/x-msdownload"}),
        "/big": StubResponse(b"x" * 200_000, headers=HTML),
        "/bomb": gzip_bomb(5_000_000),
        "/gzip": StubResponse(b"no gzip", headers={"content-encoding": "gzip", "content-type": "text/plain"}),
    }
    async with stub_server(answers) as server:
        fetcher = HttpFetcher(allow_private=True, max_bytes=100_000)
        for path, why in (
            ("/loop", "redirects more than"),
            ("/file", "not an http"),
            ("/user", "credentials"),
            ("/bin", "not supported"),
            ("/big", "larger than"),
            ("/bomb", "larger than"),
            ("/gzip", "can't be fetched"),
            ("/missing", "answered 404"),
        ):
            assert why in await refused(fetcher, server.url + path), path
        assert "credentials" in await refused(fetcher, server.url.replace("//", "//a:b@"))


async def test_a_servers_own_words_are_not_repeated() -> None:
    """They would be shown, also to a model, beside ours."""
    async with stub_server({}) as server:
        message = await refused(HttpFetcher(allow_private=True), f"{server.url}/missing")
    assert message.endswith("answered 404 Not Found. Check the address.")


async def test_no_refusal_shows_a_secret_of_the_address() -> None:
    answers = {
        "/loop?sig=s3cret": StubResponse(status=302, headers={"location": "/loop?sig=s3cret"}),
        "/file?sig=s3cret": StubResponse(status=302, headers={"location": "file:///x?sig=s3cret"}),
        "/bin?sig=s3cret": StubResponse(b"x", headers={"content-type": "application/x-msdownload"}),
        "/big?sig=s3cret": StubResponse(b"x" * 200_000, headers=HTML),
    }
    async with stub_server(answers) as server:
        fetcher = HttpFetcher(allow_private=True, max_bytes=100_000)
        for path in (*answers, "/missing?sig=s3cret"):
            message = await refused(fetcher, server.url + path)
            assert "sig=***" in message, path
            assert "s3cret" not in message, path


async def test_what_may_work_later_is_retryable() -> None:
    async with stub_server({"/busy": StubResponse(status=503), "/slow": StubResponse(hangs=True)}) as server:
        fetcher = HttpFetcher(allow_private=True, timeout_seconds=0.2)
        for path in ("/busy", "/slow"):
            with pytest.raises(RetryableError):
                await fetcher.fetch(server.url + path)
        url = server.url
    with pytest.raises(RetryableError):
        await HttpFetcher(allow_private=True).fetch(url)


@pytest.mark.parametrize(
    "named", ['filename="a.pdf"', 'filename="../x/a.pdf"', "filename*=raw_unicode_escape''a%5Cud800.pdf"]
)
async def test_a_download_keeps_its_name_as_far_as_it_is_one(named: str) -> None:
    headers = {"content-type": "application/octet-stream", "content-disposition": f"attachment; {named}"}
    async with stub_server({"/get": StubResponse(b"%PDF-", headers=headers)}) as server:
        _, upload = await HttpFetcher(allow_private=True).fetch(server.url + "/get")
    assert upload.filename == "a.pdf"

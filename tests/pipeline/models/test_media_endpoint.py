"""Images and audio become text where an endpoint is configured."""

import asyncio
import json
from hashlib import sha256

import httpx2
import pytest

from pipeline.errors import ParsingError, RetryableError
from pipeline.models.media_endpoint import MediaEndpoint
from pipeline.parsing.document_parser import FileParser
from pipeline.parsing.parser_pool import ParserPool
from schemas.events import BlobRef, Upload
from tests.support.file_samples import PNG, WAV
from tests.support.http_stub import StubResponse, stub_server

pytestmark = pytest.mark.anyio
JSON = {"content-type": "application/json"}


def upload(data: bytes, filename: str) -> Upload:
    return Upload(blob=BlobRef(sha256=sha256(data).hexdigest(), size=len(data)), filename=filename)


async def test_an_image_is_described_and_a_recording_transcribed() -> None:
    described = json.dumps({"choices": [{"message": {"content": "A red boat."}}]}).encode()
    answers = {
        "/v1/chat/completions": StubResponse(described, headers=JSON),
        "/v1/audio/transcriptions": StubResponse(b'{"text": "We sail at noon."}', headers=JSON),
    }
    async with stub_server(answers) as server:
        media = MediaEndpoint(base_url=server.url + "/v1/", model="eyes", api_key="secret")
        extractor = FileParser(ParserPool(), media)
        image = await extractor.parse_file(PNG, upload(PNG, "boat.png"))
        audio = await extractor.parse_file(WAV, upload(WAV, "call.wav"))
        await media.aclose()
    assert (image.text, image.type, image.title) == ("A red boat.", "image", "boat.png")
    assert (audio.text, audio.type, audio.title) == ("We sail at noon.", "audio", "call.wav")
    asked = json.loads(server.requests[0][2])
    assert asked["model"] == "eyes"
    assert asked["messages"][0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert server.requests[0][1]["authorization"] == "Bearer secret"
    assert WAV in server.requests[1][2]


async def test_a_busy_endpoint_is_retryable_and_an_unwilling_one_is_not() -> None:
    async with stub_server({"/chat/completions": StubResponse(status=503)}) as server:
        media = MediaEndpoint(base_url=server.url, model="eyes")
        with pytest.raises(RetryableError):
            await media.describe(PNG, "image/png")
        server.responses["/chat/completions"] = StubResponse(b"no images here", 400)
        with pytest.raises(ParsingError, match="no images here"):
            await media.describe(PNG, "image/png")
        server.responses["/chat/completions"] = StubResponse(b"{}", headers=JSON)
        with pytest.raises(ParsingError, match="no description"):
            await media.describe(PNG, "image/png")
        await media.aclose()


async def test_an_answer_that_never_ends_is_given_up() -> None:
    async def drip(_: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError

    media = MediaEndpoint(base_url="http://x", model="eyes", timeout_seconds=0.01, transport=httpx2.MockTransport(drip))
    with pytest.raises(RetryableError, match="did not answer"):
        await media.describe(PNG, "image/png")


async def test_an_address_with_an_api_version_takes_the_key_in_azures_header() -> None:
    described = StubResponse(json.dumps({"choices": [{"message": {"content": "A red boat."}}]}).encode())
    async with stub_server({"/eyes/chat/completions?api-version=1": described}) as server:
        media = MediaEndpoint(base_url=f"{server.url}/eyes?api-version=1", model="eyes", api_key="secret")
        assert await media.describe(PNG, "image/png") == "A red boat."
        await media.aclose()
    assert server.requests[0][1]["api-key"] == "secret"

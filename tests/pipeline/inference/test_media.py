"""Images and audio become text where an endpoint is configured."""

import json
from hashlib import sha256

import pytest

from pipeline.errors import ExtractionError, RetryableError
from pipeline.extraction.extractor import FileExtractor
from pipeline.extraction.workers import WorkerPool
from pipeline.inference.media import MediaEndpoint
from schemas.events import BlobRef, Upload
from tests.pipeline.extraction.samples import PNG, WAV
from tests.pipeline.extraction.servers import Answer, serving

pytestmark = pytest.mark.anyio
JSON = {"content-type": "application/json"}


def upload(data: bytes, filename: str) -> Upload:
    return Upload(blob=BlobRef(sha256=sha256(data).hexdigest(), size=len(data)), filename=filename)


async def test_an_image_is_described_and_a_recording_transcribed() -> None:
    described = json.dumps({"choices": [{"message": {"content": "A red boat."}}]}).encode()
    answers = {
        "/v1/chat/completions": Answer(described, headers=JSON),
        "/v1/audio/transcriptions": Answer(b'{"text": "We sail at noon."}', headers=JSON),
    }
    async with serving(answers) as server:
        media = MediaEndpoint(base_url=server.url + "/v1/", model="eyes", api_key="secret")
        extractor = FileExtractor(WorkerPool(), media)
        image = await extractor.file(PNG, upload(PNG, "boat.png"))
        audio = await extractor.file(WAV, upload(WAV, "call.wav"))
        await media.aclose()
    assert (image.text, image.type, image.title) == ("A red boat.", "image", "boat.png")
    assert (audio.text, audio.type, audio.title) == ("We sail at noon.", "audio", "call.wav")
    asked = json.loads(server.seen[0][2])
    assert asked["model"] == "eyes"
    assert asked["messages"][0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert server.seen[0][1]["authorization"] == "Bearer secret"
    assert WAV in server.seen[1][2]


async def test_a_busy_endpoint_is_retryable_and_an_unwilling_one_is_not() -> None:
    async with serving({"/chat/completions": Answer(status=503)}) as server:
        media = MediaEndpoint(base_url=server.url, model="eyes")
        with pytest.raises(RetryableError):
            await media.describe(PNG, "image/png")
        server.answers["/chat/completions"] = Answer(b"no images here", 400)
        with pytest.raises(ExtractionError, match="no images here"):
            await media.describe(PNG, "image/png")
        server.answers["/chat/completions"] = Answer(b"{}", headers=JSON)
        with pytest.raises(ExtractionError, match="no description"):
            await media.describe(PNG, "image/png")
        await media.aclose()

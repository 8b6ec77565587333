"""Settings become an extractor and a fetcher."""

import pytest

from pipeline.errors import ExtractionError
from pipeline.extraction.build import open_extractor, open_fetcher
from pipeline.settings import Settings
from schemas.events import BlobRef, Upload
from tests.pipeline.extraction.samples import PNG
from tests.pipeline.extraction.servers import Answer, serving

pytestmark = pytest.mark.anyio


async def test_images_are_refused_without_an_endpoint_and_described_with_one() -> None:
    upload = Upload(blob=BlobRef(sha256="0" * 64, size=len(PNG)), filename="a.png")
    plain = open_extractor(Settings(_env_file=None))
    with pytest.raises(ExtractionError, match="RECOLLECT_LLM_MODEL"):
        await plain.file(PNG, upload)
    await plain.aclose()
    answer = b'{"choices": [{"message": {"content": "A boat."}}]}'
    async with serving({"/chat/completions": Answer(answer)}) as server:
        seeing = open_extractor(Settings(_env_file=None, llm_base_url=server.url, llm_model="eyes"))
        assert (await seeing.file(PNG, upload)).text == "A boat."
        await seeing.aclose()


async def test_private_addresses_are_fetched_only_by_setting() -> None:
    async with serving({"/": Answer(b"hi", headers={"content-type": "text/plain"})}) as server:
        closed = open_fetcher(Settings(_env_file=None))
        with pytest.raises(ExtractionError, match="private"):
            await closed.fetch(server.url + "/")
        opened = open_fetcher(Settings(_env_file=None, fetch_private_addresses=True))
        assert (await opened.fetch(server.url + "/"))[0] == b"hi"
        await closed.aclose()
        await opened.aclose()

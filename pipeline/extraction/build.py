"""The extractor and the fetcher that the settings ask for."""

from pipeline.extraction.extractor import FileExtractor
from pipeline.extraction.fetch import HttpFetcher
from pipeline.extraction.workers import WorkerPool
from pipeline.inference.media import MediaEndpoint
from pipeline.settings import Settings


def open_extractor(settings: Settings) -> FileExtractor:
    """No process is started before the first file needs one. Close with `aclose`."""
    workers = WorkerPool(
        count=settings.extract_workers,
        seconds=settings.extract_seconds,
        memory_mb=settings.extract_memory_mb,
    )
    return FileExtractor(workers, _media(settings))


def open_fetcher(settings: Settings) -> HttpFetcher:
    """Public addresses only, unless the operator says otherwise. Close with `aclose`."""
    return HttpFetcher(allow_private=settings.fetch_private_addresses)


def _media(settings: Settings) -> MediaEndpoint | None:
    if settings.llm_base_url is None or settings.llm_model is None:
        return None
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key is not None else None
    return MediaEndpoint(base_url=settings.llm_base_url, model=settings.llm_model, api_key=key)

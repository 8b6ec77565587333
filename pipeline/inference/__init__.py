"""Embedders and language models, each behind a port."""

from typing import Literal

from pipeline.inference.none import NoEmbedder
from pipeline.ports import Embedder


def open_embedder(
    kind: Literal["wordllama", "openai", "none"],
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    model: str = "",
    dimensions: int = 256,
) -> Embedder:
    """The embedder of the settings; ValueError names a setting that is missing.

    An adapter is imported only when it is chosen: the others' libraries cost start-up time.
    """
    if kind == "wordllama":
        from pipeline.inference.wordllama import WordLlamaEmbedder  # noqa: PLC0415 - see above

        return WordLlamaEmbedder.packaged()
    if kind == "openai":
        if not base_url:
            raise ValueError(
                "RECOLLECT_EMBEDDER is openai, but RECOLLECT_EMBEDDER_BASE_URL is not set. "
                "Set it to the address of the endpoint, for example http://127.0.0.1:11434/v1."
            )
        from pipeline.inference.openai import OpenAIEmbedder  # noqa: PLC0415 - see above

        return OpenAIEmbedder(base_url=base_url, model=model, dimensions=dimensions, api_key=api_key)
    return NoEmbedder()

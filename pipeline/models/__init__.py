"""Embedders and language models, each behind a port."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from pipeline.errors import SettingsError
from pipeline.ports import Embedder
from pipeline.rows import Vector
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.models.chat_completions import ChatCompletionsModel
    from pipeline.models.rerank_endpoint import RerankEndpoint

EmbedderKind = Literal["e5", "e5-encoder", "wordllama", "openai", "none"]


def open_embedder(
    kind: EmbedderKind,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    model: str = "",
    dimensions: int = 256,
) -> Embedder:
    """The configured embedder. SettingsError if one of its settings is missing.

    An adapter is imported only when it is chosen: the others' libraries cost start-up time.
    """
    if kind == "e5":
        from pipeline.models.e5.e5_embedder import E5Embedder  # noqa: PLC0415 - see above

        return E5Embedder.from_package()
    if kind == "e5-encoder":
        from pipeline.models.e5_with_encoder_embedder import E5WithEncoderEmbedder  # noqa: PLC0415 - see above

        return E5WithEncoderEmbedder.from_package()
    if kind == "wordllama":
        from pipeline.models.wordllama_embedder import WordLlamaEmbedder  # noqa: PLC0415 - see above

        return WordLlamaEmbedder.from_package()
    if kind == "openai":
        if not base_url:
            raise SettingsError(
                "RECOLLECT_EMBEDDER is openai, but RECOLLECT_EMBEDDER_BASE_URL is not set. "
                "Set it to the address of the endpoint, for example http://127.0.0.1:11434/v1."
            )
        from pipeline.models.openai_embedder import OpenAIEmbedder  # noqa: PLC0415 - see above

        return OpenAIEmbedder(base_url=base_url, model=model, dimensions=dimensions, api_key=api_key)
    return NullEmbedder()


def open_reranker(settings: Settings) -> "RerankEndpoint | None":
    """The configured rerank endpoint; None without one: results are then reranked offline."""
    if settings.rerank_base_url is None:
        return None
    from pipeline.models.rerank_endpoint import RerankEndpoint  # noqa: PLC0415 - see above

    return RerankEndpoint(
        base_url=settings.rerank_base_url,
        model=settings.rerank_model,
        api_key=settings.reveal(settings.rerank_api_key),
        timeout_seconds=settings.rerank_timeout_seconds,
    )


def open_language_model(settings: Settings) -> "ChatCompletionsModel | None":
    """The configured language model, or None. Raises ValueError that names a missing setting."""
    base_url, model = settings.llm_base_url, settings.llm_model
    if base_url is None and model is None:
        return None
    if base_url is None or model is None:
        missing = "RECOLLECT_LLM_MODEL" if model is None else "RECOLLECT_LLM_BASE_URL"
        raise SettingsError(
            f"{missing} is not set: a language model needs its address and its name, for example "
            "RECOLLECT_LLM_BASE_URL=http://127.0.0.1:11434/v1 and RECOLLECT_LLM_MODEL=qwen3:8b."
        )
    # The client's library takes a second to import, which nobody else need wait for.
    from pipeline.models.chat_completions import ChatCompletionsModel  # noqa: PLC0415 - see above

    return ChatCompletionsModel(
        base_url=base_url,
        model=model,
        api_key=settings.reveal(settings.llm_api_key),
        timeout_seconds=settings.llm_timeout_seconds,
        max_output_tokens=settings.llm_output_tokens,
        max_concurrency=settings.llm_concurrency,
    )


class NullEmbedder:
    """Zero vectors of one number: every cosine is zero, and ranking is left to the words."""

    name = "none"
    dimensions = 1

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """A zero for each text."""
        return [np.zeros(1, np.float32) for _ in texts]

    async def embed_query(self, text: str, term_weight: Callable[[str], float] | None = None) -> Vector:  # noqa: ARG002 - the port's shape
        """Zero."""
        return np.zeros(1, np.float32)

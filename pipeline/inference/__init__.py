"""Embedders and language models, each behind a port."""

from typing import Literal, Protocol

from pipeline.inference.none import NoEmbedder
from pipeline.ports import Clock, Embedder, LanguageModel, Publisher, Reranker, Rewriter


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


class ClosableReranker(Reranker, Protocol):
    """Whoever opens it closes it."""

    async def aclose(self) -> None: ...


def open_reranker(
    *, base_url: str | None, model: str | None, api_key: str | None, seconds: float
) -> ClosableReranker | None:
    """The endpoint of the settings; None where none is set: results are then reranked offline."""
    if base_url is None:
        return None
    from pipeline.inference.rerank import RerankEndpoint  # noqa: PLC0415 - see above

    return RerankEndpoint(base_url=base_url, model=model, api_key=api_key, seconds=seconds)


class ClosableModel(LanguageModel, Protocol):
    """Whoever opens it closes it."""

    async def aclose(self) -> None: ...


def open_model(
    *,
    base_url: str | None,
    model: str | None,
    api_key: str | None = None,
    seconds: float = 60.0,
    output_tokens: int = 4000,
    concurrency: int = 4,
) -> ClosableModel | None:
    """The language model of the settings; None where none is set. ValueError names what is missing."""
    if base_url is None and model is None:
        return None
    if base_url is None or model is None:
        missing = "RECOLLECT_LLM_MODEL" if model is None else "RECOLLECT_LLM_BASE_URL"
        raise ValueError(
            f"{missing} is not set: a language model needs its address and its name, for example "
            "RECOLLECT_LLM_BASE_URL=http://127.0.0.1:11434/v1 and RECOLLECT_LLM_MODEL=qwen3:8b."
        )
    # The client's library takes a second to import, which nobody else need wait for.
    from pipeline.inference.chat import ChatModel  # noqa: PLC0415 - see above

    return ChatModel(
        base_url=base_url,
        model=model,
        api_key=api_key,
        seconds=seconds,
        output_tokens=output_tokens,
        concurrency=concurrency,
    )


class ClosableRewriter(Rewriter, Protocol):
    """Whoever opens it closes it."""

    async def aclose(self) -> None: ...


def open_rewriter(model: LanguageModel, publisher: Publisher, clock: Clock) -> ClosableRewriter:
    """Other ways to ask by a language model; what they cost goes to the log."""
    from pipeline.inference.rewriting import ModelRewriter  # noqa: PLC0415 - see above

    return ModelRewriter(model, publisher, clock)

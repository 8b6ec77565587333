"""`python -m bench.lookups`: codes, names, rare words and runs of words that one text alone has.

Typed as they are or in a frame. Texts are those of `bench.datasets.synced_sources`: the first four, the first twelve,
and all of a source, in process, with all defaults. What is looked for is drawn by a fixed seed; no weight was chosen by
it but `MAX_LOOKUP_WORDS`.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from bench.datasets.synced_sources import SOURCES, read_source
from bench.ranking import remembered
from pipeline.index.query_analysis import analyze_query
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.models import open_embedder

FRAMES = ("{}", "what about {}?", "tell me about {}")
SIZES = (4, 12, None)
FRAMED = ("codes", "names", "rare words")
EACH = 8
"""What is looked for of a kind in a namespace, at most."""
_TOKEN = re.compile(r"\w[\w./@+-]*\w")
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_]).+")
_WORD = re.compile(r"[^\W\d_]{7,}")
_STEM_CHARS = 6


def main() -> None:
    """Print a line for each kind of what is looked for and each frame."""
    asyncio.run(_measure())


async def _measure() -> None:
    embedder, drawing = open_embedder("e5-encoder"), random.Random(7)
    counts: Counter[tuple[str, str, str]] = Counter()
    for name in SOURCES:
        texts = [text.content for text in read_source(name).texts]
        for size in SIZES:
            index = await remembered(texts[:size], 0, embedder)
            for kind, looked_for in _looked_for(texts[:size], drawing):
                for frame in FRAMES[: None if kind in FRAMED else 1]:
                    query = frame.format(" ".join(looked_for))
                    hits = await index.search(await analyze_query(index, embedder, query), SearchRequest())
                    right = [all(word in hit.text for word in looked_for) for hit in hits]
                    for measure, is_met in (("asked", True), ("first", right[:1] == [True]), ("found", any(right))):
                        counts[kind, frame, measure] += is_met
    print("| looked for | typed | first | found |\n|---|---|---:|---:|")
    for kind, frame in dict.fromkeys((kind, frame) for kind, frame, _ in counts):
        first, found, asked = (counts[kind, frame, measure] for measure in ("first", "found", "asked"))
        print(f"| {kind} | {frame.format('…')} | {first} | {found} of {asked} |")


def _looked_for(texts: Sequence[str], drawing: random.Random) -> Iterator[tuple[str, list[str]]]:
    """Yield what stands in one text only, by kind; two words stand in one sentence."""
    stems = Counter(token.lower()[:_STEM_CHARS] for text in texts for token in _TOKEN.findall(text))
    once = [token for text in texts for token in _TOKEN.findall(text) if stems[token.lower()[:_STEM_CHARS]] == 1]
    words = [token for token in once if _WORD.fullmatch(token)]
    kinds = {
        "codes": [token for token in once if _CODE.fullmatch(token)],
        "names": [token for token in words if token[0].isupper()],
        "rare words": words,
    }
    for kind, tokens in kinds.items():
        yield from ((kind, [token]) for token in drawing.sample(tokens, min(EACH, len(tokens))))
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=[.!?])\s|\n", text)]
    pairs = [pair for sentence in sentences if len(pair := [word for word in words if word in sentence]) > 1]
    yield from (("two words", drawing.sample(pair, 2)) for pair in drawing.sample(pairs, min(EACH, len(pairs))))
    runs = [" ".join(sentence.split()[2:7]) for sentence in sentences if len(sentence.split()) > 8]
    copied = [run for run in runs if sum(text.count(run) for text in texts) == 1]
    yield from (("five words in a row", [run]) for run in drawing.sample(copied, min(EACH, len(copied))))


if __name__ == "__main__":
    main()

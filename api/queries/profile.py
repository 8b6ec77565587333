"""Profiles: what lasts, what is recent, and the namespace's own sections, computed from its memories."""

import asyncio
import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from api.ports import Documents
from pipeline.ports import Embedder, Memories
from pipeline.rows import MemoryColumns, NamespaceRow, OrganizationRow, Terms, Vector
from pipeline.text.terms import hashed
from schemas.filters import FilterExpression
from schemas.http.profile import Profile, ProfileBody, ProfileFact

FACTS = 20
"""Facts of a section, at most."""
CHARACTERS = 2_000
"""Of a section: two of them are about a thousand tokens."""
REGARDED = 500
"""Newest facts of each kind from which buckets are filled."""
DEFAULT_BUCKETS = {
    "preferences": "What somebody likes, loves, enjoys, prefers, wants, dislikes or hates: favourites, tastes"
}
"""Where neither the namespace nor the organization defines any."""
SIMILAR = 0.18
"""Score (`_scores`) from which a fact is in a bucket: on 28 facts and 6 buckets precision 0.9, recall 0.6."""
SHARED_TERM = 0.12


@dataclass(frozen=True, slots=True)
class Candidate:
    """A current memory that a profile may show. `updated_at` in microseconds."""

    updated_at: int
    id: str
    text: str
    is_static: bool
    sources: tuple[str, ...]
    vector: Vector
    terms: Terms


async def profile(  # noqa: PLR0917 - the first three are bound by the composition root
    memories: Memories,
    documents: Documents,
    embedder: Embedder,
    namespace: NamespaceRow,
    organization: OrganizationRow,
    body: ProfileBody,
) -> Profile:
    """The profile of a namespace; the newest facts first in every section."""
    passing = await _passing(documents, namespace, body.filter)
    candidates = await _newest(memories, namespace, passing)
    buckets = {**namespace.buckets, **organization.buckets} or DEFAULT_BUCKETS
    wanted = {name: buckets.get(name) for name in body.buckets} if body.buckets is not None else buckets
    return Profile(
        static=_bounded(one for one in candidates if one.is_static),
        dynamic=_bounded(one for one in candidates if not one.is_static),
        buckets=await _filled(embedder, candidates, wanted),
    )


async def _passing(
    documents: Documents, namespace: NamespaceRow, expression: FilterExpression | None
) -> Collection[str]:
    """Keys of the documents whose memories may be shown; those of deleted documents may not."""
    if expression is not None:
        return await documents.keys(namespace.spaces, expression)
    return frozenset((await documents.columns(namespace.spaces)).keys)


async def _newest(memories: Memories, namespace: NamespaceRow, passing: Collection[str]) -> list[Candidate]:
    newest: dict[bool, list[tuple[int, str, Candidate]]] = {True: [], False: []}
    async for columns in memories.stream(namespace.spaces):
        for is_static, kept in newest.items():
            # Other requests go on between the batches of a large namespace.
            await asyncio.sleep(0)
            rows = np.flatnonzero(columns.is_latest & ~columns.forgotten & (columns.is_static == is_static))
            fresh = rows[np.argsort(columns.updated_at[rows], kind="stable")[::-1]].tolist()
            found = _candidates(columns, fresh, passing, is_static=is_static)
            newest[is_static] = heapq.nlargest(REGARDED, [*kept, *found], key=lambda one: one[:2])
    return [one for kept in newest.values() for _, _, one in kept]


def _candidates(
    columns: MemoryColumns, rows: Sequence[int], passing: Collection[str], *, is_static: bool
) -> list[tuple[int, str, Candidate]]:
    found: list[tuple[int, str, Candidate]] = []
    for row in rows:
        sources = tuple(columns.sources[row].split())
        if any(source in passing for source in sources):
            found.append(
                (int(columns.updated_at[row]), columns.ids[row], _candidate(columns, row, sources, is_static))
            )
        if len(found) == REGARDED:
            break
    return found


def _candidate(columns: MemoryColumns, row: int, sources: tuple[str, ...], is_static: bool) -> Candidate:
    return Candidate(
        updated_at=int(columns.updated_at[row]),
        id=columns.ids[row],
        text=columns.texts[row],
        is_static=is_static,
        sources=sources,
        vector=columns.vectors[row],
        terms=columns.terms[columns.term_offsets[row] : columns.term_offsets[row + 1]],
    )


def _bounded(candidates: Iterable[Candidate]) -> list[ProfileFact]:
    facts: list[ProfileFact] = []
    left = CHARACTERS
    for one in candidates:
        left -= len(one.text)
        if len(facts) == FACTS or (left < 0 and facts):
            break
        facts.append(ProfileFact(id=one.id, memory=one.text))
    return facts


async def _filled(
    embedder: Embedder, candidates: Sequence[Candidate], buckets: Mapping[str, str | None]
) -> dict[str, list[ProfileFact]]:
    """Each fact in any number of buckets; a name that nobody defined stays empty."""
    defined = {name: f"{_words(name)}. {text}" for name, text in buckets.items() if text is not None}
    vectors = await embedder.documents(list(defined.values())) if defined and candidates else []
    filled: dict[str, list[ProfileFact]] = {name: [] for name in buckets}
    for (name, text), vector in zip(defined.items(), vectors, strict=False):
        scores = _scores(candidates, vector, hashed(text))
        fitting = [one for one, score in zip(candidates, scores, strict=True) if score >= SIMILAR]
        filled[name] = _bounded(sorted(fitting, key=lambda one: (-one.updated_at, one.id)))
    return filled


def _scores(candidates: Sequence[Candidate], vector: Vector, terms: Terms) -> list[float]:
    """Cosine, and a bit for every term that the fact shares with the bucket's name and description."""
    cosines = np.stack([one.vector for one in candidates]) @ vector
    shared = [len(np.intersect1d(one.terms, terms)) for one in candidates]
    return [float(cosine) + SHARED_TERM * count for cosine, count in zip(cosines, shared, strict=True)]


def _words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")

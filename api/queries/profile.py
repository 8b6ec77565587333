"""Profiles: what lasts, what is recent, and the namespace's own sections, computed from its memories."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pipeline.index.cache import NamespaceCache
from pipeline.index.hits import Remembered
from pipeline.ports import Embedder
from pipeline.rows import NamespaceRow, OrganizationRow
from pipeline.text.terms import hashed
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
"""Cosine and shared terms from which a fact is in a bucket: between .15 (28 facts and 6 buckets: precision
.83, recall .76) and .20 (1.0 and .56)."""
SHARED_TERM = 0.12
"""For every term that a fact shares with the bucket's name and description."""


async def profile(
    cache: NamespaceCache,
    embedder: Embedder,
    namespace: NamespaceRow,
    organization: OrganizationRow,
    body: ProfileBody,
) -> Profile:
    """The profile of a namespace; the newest facts first in every section."""
    index = await cache.open(namespace)
    memories = await index.newest(body.filter, REGARDED)
    buckets = {**namespace.buckets, **organization.buckets} or DEFAULT_BUCKETS
    wanted = {name: buckets.get(name) for name in body.buckets} if body.buckets is not None else buckets
    return Profile(
        static=_bounded(one for one in memories if one.is_static),
        dynamic=_bounded(one for one in memories if not one.is_static),
        buckets=await _filled(embedder, memories, wanted),
    )


def _bounded(memories: Iterable[Remembered]) -> list[ProfileFact]:
    facts: list[ProfileFact] = []
    left = CHARACTERS
    for one in memories:
        left -= len(one.text)
        if len(facts) == FACTS or (left < 0 and facts):
            break
        facts.append(ProfileFact(id=one.id, memory=one.text))
    return facts


async def _filled(
    embedder: Embedder, memories: Sequence[Remembered], buckets: Mapping[str, str | None]
) -> dict[str, list[ProfileFact]]:
    """Each fact in any number of buckets; a name that nobody defined stays empty."""
    defined = {name: f"{_words(name)}. {text}" for name, text in buckets.items() if text is not None}
    filled: dict[str, list[ProfileFact]] = {name: [] for name in buckets}
    if not defined or not memories:
        return filled
    # One matrix, and each fact's terms once, however many buckets there are.
    matrix = np.stack([one.vector for one in memories])
    terms = [frozenset(hashed(one.text).tolist()) for one in memories]
    vectors = await embedder.documents(list(defined.values()))
    for (name, text), vector in zip(defined.items(), vectors, strict=True):
        meant = frozenset(hashed(text).tolist())
        shared = np.array([len(said & meant) for said in terms], np.float32)
        fitting = np.flatnonzero(matrix @ vector + SHARED_TERM * shared >= SIMILAR)
        found = [memories[row] for row in fitting.tolist()]
        filled[name] = _bounded(sorted(found, key=lambda one: (-one.updated_at, one.id)))
    return filled


def _words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")

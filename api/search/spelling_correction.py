"""Spelling correction of names in a query that the namespace does not have, by names that it has."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from pipeline.index.namespace_index import NamespaceIndex
from pipeline.index.ranking.analyzed_query import AnalyzedQuery
from pipeline.index.ranking.search_request_and_hits import SearchRequest
from pipeline.text.analyzer import term_hashes, words

_VOCABULARY_HITS = 100
_MIN_NAME_CHARS = 4
_WORD = re.compile(r"\w+")


async def correct_spelling(index: NamespaceIndex, text: str, query: AnalyzedQuery, request: SearchRequest) -> str:
    """Return the query with each unknown name replaced by the likeliest name of the namespace."""
    named = {word: term_hashes(words(word)[0]) for word in _WORD.findall(text) if _is_name(word)}
    counted = await index.collect_statistics({term for terms in named.values() for term in terms})
    unknown = [
        word for word, terms in named.items() if terms and not any(counted.row_frequencies[term] for term in terms)
    ]
    if not unknown:
        return text
    found = await index.search(query, replace(request, limit=_VOCABULARY_HITS, threshold=0.0, explain=False))
    instead = likely_corrections(unknown, (hit.text for hit in found))
    return _WORD.sub(lambda match: instead.get(match[0], match[0]), text)


def likely_corrections(unknown_names: Iterable[str], texts: Iterable[str]) -> dict[str, str]:
    """Return the most frequent name within one edit of each unknown name."""
    names = Counter(word for text in texts for word in _WORD.findall(text) if _is_name(word))
    instead = {}
    for name in unknown_names:
        alike = [(count, other) for other, count in names.items() if _within_one_edit(name, other)]
        if alike:
            instead[name] = max(alike)[1]
    return instead


def _is_name(word: str) -> bool:
    """Return whether a word looks like a name."""
    return len(word) >= _MIN_NAME_CHARS and word.isalpha() and word[0].isupper() and bool(words(word))


def _within_one_edit(first: str, other: str) -> bool:
    """Return whether two words differ by one letter left out, added, replaced or swapped, but for the first."""
    first, other = first.casefold(), other.casefold()
    if first[0] != other[0] or abs(len(first) - len(other)) > 1:
        return False
    return not _deletion_variants(first).isdisjoint(_deletion_variants(other))


def _deletion_variants(word: str) -> set[str]:
    """Return the word and each form without one letter: words one edit apart share one of these."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}

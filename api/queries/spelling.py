"""Names of a question as they are written in the namespace, where nobody there writes them as it does."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from pipeline.index.hits import Wanted
from pipeline.index.namespace import NamespaceIndex
from pipeline.index.scoring import Question
from pipeline.text.terms import term_hashes, words

_RESULTS = 100
_SHORTEST = 4
_WRITTEN = re.compile(r"\w+")


async def spelled(index: NamespaceIndex, text: str, question: Question, wanted: Wanted) -> str:
    """The text of a question, with names that are a slip away from one that is there put right."""
    named = {word: term_hashes(words(word)[0]) for word in _WRITTEN.findall(text) if _is_name(word)}
    counted = await index.statistics({term for terms in named.values() for term in terms})
    unknown = [
        word for word, terms in named.items() if terms and not any(counted.frequencies[one] for one in terms)
    ]
    if not unknown:
        return text
    found = await index.search(question, replace(wanted, limit=_RESULTS, threshold=0.0, explained=False))
    instead = likely(unknown, (hit.text for hit in found))
    return _WRITTEN.sub(lambda match: instead.get(match[0], match[0]), text)


def likely(unknown: Iterable[str], texts: Iterable[str]) -> dict[str, str]:
    """By unknown name the commonest one of the texts that is written alike."""
    there = Counter(word for text in texts for word in _WRITTEN.findall(text) if _is_name(word))
    instead = {}
    for name in unknown:
        alike = [(count, other) for other, count in there.items() if _a_slip_away(name, other)]
        if alike:
            instead[name] = max(alike)[1]
    return instead


def _is_name(word: str) -> bool:
    """Whether it may be one."""
    return len(word) >= _SHORTEST and word.isalpha() and word[0].isupper() and bool(words(word))


def _a_slip_away(one: str, other: str) -> bool:
    """A letter left out, too many, wrong, or in its neighbour's place, but for the first."""
    one, other = one.casefold(), other.casefold()
    if one[0] != other[0] or abs(len(one) - len(other)) > 1:
        return False
    return not _slips(one).isdisjoint(_slips(other))


def _slips(word: str) -> set[str]:
    """The word, and it without one of its letters: words a slip apart share one of them."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}

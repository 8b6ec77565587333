"""Aggregation of facts into one statement: `Ada likes tea` and `Ada likes jazz` to `Ada likes tea and
jazz`.

Pure, and conservative: merges only statements about the same subject in the same words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from pipeline.text.analyzer import words

AGGREGATE_ID_PREFIX = "aggregated_"
"""Prefix of the ids of statements aggregated from several memories."""
MAX_OBJECTS_PER_AGGREGATE = 8
"""Objects named by one aggregated statement."""
_MIN_SHARED_PREFIX_WORDS = 2
"""Words that two facts must share at the beginning before one can be a detailed form of the other."""
_SUBJECT = r"[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2}"
_FRAME = re.compile(
    rf"^(?P<frame>{_SUBJECT} (?:really )?(?:likes|loves|enjoys|prefers|dislikes|hates|speaks|plays|owns|"
    r"collects|knows|uses|visited|has visited|has been to|wants to visit|studies|practises|practices|"
    r"is allergic to|is interested in|is learning|is good at|is afraid of|is a fan of|is fond of))"
    r" (?P<thing>[\w'.+#-]+(?: [\w'.+#-]+){0,3})\.?$"
)
_CLAUSE_WORDS = frozenset(
    {
        "and", "or", "but", "because", "when", "while", "that", "which", "who", "whom", "if", "since", "than",
        "to", "with", "for", "at", "from", "without", "about", "not", "no", "never", "anymore", "again",
    }
)  # fmt: skip
"""Words that make an object more than a simple noun phrase."""
_DETAIL_WORDS = frozenset(
    {
        "in", "at", "near", "by", "on", "as", "with", "for", "from", "since", "of", "to", "around", "behind",
        "beside", "until", "together", "because",
    }
)  # fmt: skip
"""Words after which a phrase only adds detail, so that the text before it stays true."""
_PAUSE = re.compile(r";| - | \u2013 ")
_DENIALS = frozenset(["not", "no", "never", "longer", "without", "t", "stopped", "quit"])


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """A statement of a profile, of one memory or aggregated from several (`memory_ids`)."""

    id: str
    text: str
    memory_ids: tuple[str, ...] = field(default=(), compare=False)


def aggregate_facts(facts: Sequence[ProfileEntry]) -> list[ProfileEntry]:
    """Aggregate facts, in their order.

    >>> facts = [ProfileEntry("1", "Ada likes tea"), ProfileEntry("2", "Ada likes jazz")]
    >>> [entry.text for entry in aggregate_facts(facts)]
    ['Ada likes tea and jazz']
    """
    return _merge_enumerable(_merge_less_detailed(facts))


@dataclass(frozen=True, slots=True)
class _ParsedFact:
    """A text as aggregation needs it.

    `less_detailed`: word sequences that state the same with less detail. `frame`, `object_phrase`: set for
    texts of the form subject, verb, object.
    """

    words: tuple[str, ...]
    less_detailed: tuple[tuple[str, ...], ...]
    frame: str | None = None
    object_phrase: str = ""


@dataclass(frozen=True, slots=True)
class _MergedFact:
    text: str
    ids: tuple[str, ...]

    def to_entry(self) -> ProfileEntry:
        if len(self.ids) == 1:
            return ProfileEntry(self.ids[0], self.text)
        joined_ids = "\n".join(sorted(self.ids)).encode()
        return ProfileEntry(AGGREGATE_ID_PREFIX + blake2b(joined_ids, digest_size=12).hexdigest(), self.text, self.ids)


@lru_cache(maxsize=8192)
def _parse_fact(text: str) -> _ParsedFact:
    """Parse a fact; cached, because a profile is rebuilt from mostly the same facts."""
    fact_words = tuple(words(text))
    less_detailed = tuple(_less_detailed(fact_words, text))
    match = _FRAME.match(text)
    if match is None or not _CLAUSE_WORDS.isdisjoint(words(match["thing"])):
        return _ParsedFact(fact_words, less_detailed)
    return _ParsedFact(fact_words, less_detailed, match["frame"], match["thing"].rstrip("."))


def _merge_less_detailed(facts: Sequence[ProfileEntry]) -> list[_MergedFact]:
    """Replace facts by the one that states the same in the most detail."""
    parsed = [_parse_fact(fact.text) for fact in facts]
    longest_first = sorted(range(len(facts)), key=lambda index: -len(parsed[index].words))
    index_by_words: dict[tuple[str, ...], int] = {}
    roots = list(range(len(facts)))
    for index in longest_first:
        roots[index] = index_by_words.get(parsed[index].words, index)
        if roots[index] == index:
            for less_detailed in parsed[index].less_detailed:
                index_by_words.setdefault(less_detailed, index)
    return _merge_by_root(facts, roots)


def _merge_by_root(facts: Sequence[ProfileEntry], roots: Sequence[int]) -> list[_MergedFact]:
    groups: dict[int, list[int]] = {}
    for index, root in enumerate(roots):
        groups.setdefault(root, []).append(index)
    return [_MergedFact(facts[root].text, tuple(facts[index].id for index in group)) for root, group in groups.items()]


def _less_detailed(fact_words: tuple[str, ...], text: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a fact, and those of its beginnings that the rest adds to without denying."""
    yield fact_words
    for pause in _PAUSE.finditer(text):
        if _DENIALS.isdisjoint(words(text[pause.end() :])):
            yield tuple(words(text[: pause.start()]))
    for end in range(len(fact_words) - 1, _MIN_SHARED_PREFIX_WORDS, -1):
        if fact_words[end] in _DENIALS:
            return
        if fact_words[end] in _DETAIL_WORDS:
            yield fact_words[:end]


def _merge_enumerable(facts: Sequence[_MergedFact]) -> list[ProfileEntry]:
    """Merge facts that differ only in their object."""
    frames: dict[str, list[tuple[_MergedFact, str]]] = {}
    for fact in facts:
        parsed = _parse_fact(fact.text)
        if parsed.frame is not None:
            frames.setdefault(parsed.frame, []).append((fact, parsed.object_phrase))
    entries: list[ProfileEntry] = []
    for fact in facts:
        frame = _parse_fact(fact.text).frame
        if frame is None:
            entries.append(fact.to_entry())
        elif members := frames.pop(frame, None):
            entries += [fact.to_entry()] if len(members) == 1 else _enumeration_entries(frame, members)
    return entries


def _enumeration_entries(frame: str, members: Sequence[tuple[_MergedFact, str]]) -> list[ProfileEntry]:
    entries: list[ProfileEntry] = []
    for begin in range(0, len(members), MAX_OBJECTS_PER_AGGREGATE):
        chunk = members[begin : begin + MAX_OBJECTS_PER_AGGREGATE]
        objects = list(dict.fromkeys(object_phrase for _, object_phrase in chunk))
        ids = tuple(id_ for fact, _ in chunk for id_ in fact.ids)
        entries.append(_MergedFact(f"{frame} {_join_phrases(objects)}", ids).to_entry())
    return entries


def _join_phrases(phrases: Sequence[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"

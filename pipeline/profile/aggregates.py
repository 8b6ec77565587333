"""Several facts that say one thing, as one: `Ada likes tea` and `Ada likes jazz`, `Ada likes tea and jazz`.

Pure, and careful: only what is said of the same subject in the same words is put together.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from pipeline.text.terms import words

PREFIX = "aggregated_"
"""The ids of facts made of several memories begin so."""
MOST = 8
"""Things named by one aggregated fact."""
_OPENING = 2
"""Words that two facts must begin with before one can be the other in more detail."""
_SUBJECT = r"[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,2}"
_FRAME = re.compile(
    rf"^(?P<frame>{_SUBJECT} (?:really )?(?:likes|loves|enjoys|prefers|dislikes|hates|speaks|plays|owns|"
    r"collects|knows|uses|visited|has visited|has been to|wants to visit|studies|practises|practices|"
    r"is allergic to|is interested in|is learning|is good at|is afraid of|is a fan of|is fond of))"
    r" (?P<thing>[\w'.+#-]+(?: [\w'.+#-]+){0,3})\.?$"
)
_CLAUSE = frozenset(
    {
        "and", "or", "but", "because", "when", "while", "that", "which", "who", "whom", "if", "since", "than",
        "to", "with", "for", "at", "from", "without", "about", "not", "no", "never", "anymore", "again",
    }
)  # fmt: skip
"""A thing that has one of these words is more than a thing."""
_DETAIL = frozenset(
    {
        "in", "at", "near", "by", "on", "as", "with", "for", "from", "since", "of", "to", "around", "behind",
        "beside", "until", "together", "because",
    }
)  # fmt: skip
"""What is said after one of these words adds to what stands before it, and leaves it true."""
_PAUSE = re.compile(r";| - | \u2013 ")
_DENIALS = frozenset(["not", "no", "never", "longer", "without", "t", "stopped", "quit"])


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement of a profile: of one memory, or of several (then its id says so, and `of` names them)."""

    id: str
    text: str
    of: tuple[str, ...] = field(default=(), compare=False)


def aggregated(facts: Sequence[Stated]) -> list[Stated]:
    """The same facts, in their order, each group of them that says one thing as one statement.

    >>> [one.text for one in aggregated([Stated("1", "Ada likes tea"), Stated("2", "Ada likes jazz")])]
    ['Ada likes tea and jazz']
    """
    return _listed(_in_most_detail(facts))


@dataclass(frozen=True, slots=True)
class _Read:
    """What a text says, as far as it matters here: `frame` and `thing` where it is of that form.

    `less`: what says the same with less detail.
    """

    words: tuple[str, ...]
    less: tuple[tuple[str, ...], ...]
    frame: str | None = None
    thing: str = ""


@dataclass(frozen=True, slots=True)
class _Made:
    text: str
    ids: tuple[str, ...]

    def stated(self) -> Stated:
        if len(self.ids) == 1:
            return Stated(self.ids[0], self.text)
        named = "\n".join(sorted(self.ids)).encode()
        return Stated(PREFIX + blake2b(named, digest_size=12).hexdigest(), self.text, self.ids)


@lru_cache(maxsize=8192)
def _read(text: str) -> _Read:
    """A profile is made again with every change, mostly of the same facts."""
    said = tuple(words(text))
    less = tuple(_less_detailed(said, text))
    match = _FRAME.match(text)
    if match is None or not _CLAUSE.isdisjoint(words(match["thing"])):
        return _Read(said, less)
    return _Read(said, less, match["frame"], match["thing"].rstrip("."))


def _in_most_detail(facts: Sequence[Stated]) -> list[_Made]:
    """Of facts that say the same, one with more detail than the other, the one with the most."""
    spoken = [_read(fact.text) for fact in facts]
    longest_first = sorted(range(len(facts)), key=lambda at: -len(spoken[at].words))
    says: dict[tuple[str, ...], int] = {}
    roots = list(range(len(facts)))
    for at in longest_first:
        roots[at] = says.get(spoken[at].words, at)
        if roots[at] == at:
            for less in spoken[at].less:
                says.setdefault(less, at)
    return _gathered(facts, roots)


def _gathered(facts: Sequence[Stated], roots: Sequence[int]) -> list[_Made]:
    """One for each root, where the first of its facts stands."""
    groups: dict[int, list[int]] = {}
    for at, root in enumerate(roots):
        groups.setdefault(root, []).append(at)
    return [_Made(facts[root].text, tuple(facts[at].id for at in group)) for root, group in groups.items()]


def _less_detailed(said: tuple[str, ...], text: str) -> Iterator[tuple[str, ...]]:
    """What says the same: these words, and their beginnings that are only added to and not denied."""
    yield said
    for pause in _PAUSE.finditer(text):
        if _DENIALS.isdisjoint(words(text[pause.end() :])):
            yield tuple(words(text[: pause.start()]))
    for end in range(len(said) - 1, _OPENING, -1):
        if said[end] in _DENIALS:
            return
        if said[end] in _DETAIL:
            yield said[:end]


def _listed(facts: Sequence[_Made]) -> list[Stated]:
    """Facts that differ in one thing only, as one that names the things."""
    frames: dict[str, list[tuple[_Made, str]]] = {}
    for one in facts:
        read = _read(one.text)
        if read.frame is not None:
            frames.setdefault(read.frame, []).append((one, read.thing))
    stated: list[Stated] = []
    for one in facts:
        frame = _read(one.text).frame
        if frame is None:
            stated.append(one.stated())
        elif members := frames.pop(frame, None):
            stated += [one.stated()] if len(members) == 1 else _lists(frame, members)
    return stated


def _lists(frame: str, members: Sequence[tuple[_Made, str]]) -> list[Stated]:
    found: list[Stated] = []
    for begin in range(0, len(members), MOST):
        some = members[begin : begin + MOST]
        things = list(dict.fromkeys(thing for _, thing in some))
        ids = tuple(id_ for made, _ in some for id_ in made.ids)
        found.append(_Made(f"{frame} {_enumerated(things)}", ids).stated())
    return found


def _enumerated(things: Sequence[str]) -> str:
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"

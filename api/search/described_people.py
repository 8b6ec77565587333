"""People: those whom a description means, and those whom a memory is about; what is mine is not my sister's."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.memory.grammar.speaker_context import DEFAULT_SPEAKER
from pipeline.memory.outlines.readings import outline
from pipeline.memory.outlines.vocabulary import USER
from pipeline.text.analyzer import content_words, is_unspaced_script, words
from pipeline.text.english_verbs import word_set
from pipeline.text.statement_words import (
    asks_about_asker,
    capitalized_names,
    named_people,
    names_asker,
    told_relations,
)

_TOKEN = re.compile(r"[^\W_][\w-]*(?:['\u2019]s\b)?")
_WITHOUT_MEANING = word_set(
    "all alles todo tout toute tutto tudo wszystko everything anything uber sobre su information facts memories know"
)
"""Words beside whom a description names, where it means all of them."""


@dataclass(frozen=True, slots=True)
class MeantPeople:
    """People whom a description means.

    `names`: in small letters, those of the relatives that it names, too; `named`: those in it. `is_asker`: what it
    means is the asker's own. `rest`: what else it says, empty where it means all that is known of them.
    """

    relations: frozenset[int]
    named: frozenset[str]
    names: frozenset[str]
    is_asker: bool
    rest: str
    known: frozenset[str]
    relations_by_name: dict[str, frozenset[int]]

    @property
    def is_somebody(self) -> bool:
        """Return whether it names anybody."""
        return bool(self.relations or self.named)

    def are_in(self, memory: str) -> bool:
        """Return whether a memory is about them; whoever it is about where nobody is meant."""
        said = memory.removeprefix(f"{DEFAULT_SPEAKER}: ")
        names = _names_in(said)
        if not self.is_somebody:
            return not self.is_asker or not self._is_of_another(memory, said)
        told = told_relations(said).union(*(self.relations_by_name.get(name, frozenset()) for name in names))
        if self.named:
            return not names.isdisjoint(self.named) and (self.relations <= told or not told)
        is_users = outline(memory).holder.startswith(USER)
        return not names.isdisjoint(self.names) or (is_users and not self.relations.isdisjoint(told))

    def _is_of_another(self, memory: str, said: str) -> bool:
        first = _TOKEN.match(said)
        is_of_name = first is not None and _plain(first[0]) in self.known and DEFAULT_SPEAKER not in said
        return is_of_name or outline(memory).holder != USER


def meant_people(description: str, memories: Sequence[str]) -> MeantPeople:
    """Read whom a description means; the memories tell their names."""
    relations_by_name: dict[str, frozenset[int]] = {}
    for name, relations in _told_names(memories):
        relations_by_name[name] = relations_by_name.get(name, frozenset()) | relations
    holders = (outline(memory).holder.split()[0] for memory in memories)
    known = frozenset(relations_by_name).union(holder for holder in holders if holder != USER)
    relations = told_relations(description)
    named = _names_in(description) & known.union(map(str.lower, capitalized_names(description)))
    own = {name for name, told in relations_by_name.items() if not named and not relations.isdisjoint(told)}
    rest = [token for token in _TOKEN.findall(description) if is_unspaced_script(token) or not _names(token, named)]
    said = content_words(words(" ".join(rest)))
    says_more = any(is_unspaced_script(word) or not (word in _WITHOUT_MEANING or names_asker(word)) for word in said)
    return MeantPeople(
        relations,
        named,
        named | own,
        asks_about_asker(description),
        " ".join(rest) if says_more or not (relations or named) else "",
        known,
        relations_by_name,
    )


def _names(token: str, named: frozenset[str]) -> bool:
    return _plain(token) in named or bool(told_relations(token))


def _told_names(memories: Iterable[str]) -> Iterable[tuple[str, frozenset[int]]]:
    """Yield names of relatives and friends, each with what they are to the user."""
    for memory in memories:
        yield from named_people(memory.removeprefix(f"{DEFAULT_SPEAKER}: "))


def _names_in(text: str) -> frozenset[str]:
    return frozenset(map(_plain, _TOKEN.findall(text)))


def _plain(token: str) -> str:
    return token.lower().replace("\u2019", "'").removesuffix("'s")

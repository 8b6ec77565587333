"""Persons whom a discourse is about, and whether the pronouns of a clause may mean them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import OTHERS, Clause, is_first
from pipeline.memory.grammar.opening_names import restore_name
from pipeline.memory.grammar.refusals import is_object_of
from pipeline.memory.grammar.speaker_context import DEFAULT_SPEAKER, SpeakerContext
from pipeline.memory.grammar.worth.telling_words import HUMAN, is_user
from pipeline.memory.languages.profiles import LanguageProfile
from pipeline.text.english_nouns import KIN, MEN, PARENTS, PETS, WOMEN, is_plural

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_MEETING = frozenset({"meet", "date", "marry", "visit", "invite", "hire", "miss"})
_SILENT_TURNS = 2
"""Turns after which nobody knows any more who `she` is."""


@dataclass(slots=True)
class Discourse:
    """Referents of the next sentence: who `he` or `she` is, the place `there`, the same day; and its language.

    `firm`: the person, if it is a firm, so that only `they` means it.
    `pronouns`: those that have meant the person, so that whom `he` meant is no `she`. `speaker`: whose turn it is;
    `silent_turns`: how many are over in which nobody spoke of the person. `begins_small`: sentences begin with small
    letters, so that a capital is a name's. `topic`: whom a request in another language named. `several`: the clause
    before named more than one, who may be `they`.
    """

    person: str | None = None
    speaker: str | None = None
    silent_turns: int = 0
    pronouns: frozenset[str] = frozenset()
    firm: str | None = None
    place: str | None = None
    day: date | None = None
    language: LanguageProfile | None = None
    begins_small: bool = False
    topic: str = ""
    several: bool = False

    def begin_turn(self, speaker: str | None) -> None:
        """Forget a person of whom neither of two speaks any more; between them may be a `that must be tough`."""
        if speaker != self.speaker:
            self.person = self.person if self.silent_turns < _SILENT_TURNS else None
            self.speaker, self.silent_turns = speaker, self.silent_turns + 1


def named_outside(clause: Clause, clauses: Sequence[Clause]) -> "Token | None":
    """Return the noun that stands before a clause and in none, whom it is about: `staffie cross, she's called Miso`."""
    begin = clause.subject.left_edge.i
    within = {token.i for other in clauses for token in (*other.subject.subtree, *other.tokens)}
    nouns = [
        token for token in clause.head.doc[:begin] if token.pos_ == "NOUN" or (token.pos_ == "PROPN" and token.is_lower)
    ]
    *_, last = [None, *(noun for noun in nouns if noun.i not in within and noun.ent_type_ not in ("DATE", "TIME"))]
    return last


def may_mean_person(clause: Clause, discourse: Discourse) -> bool:
    """Return whether a clause's pronouns may mean whom was spoken of: `they` more than one, `she` no uncle."""
    person, pronouns = discourse.person, pronouns_of_others(clause)
    if person is not None and person == discourse.firm:
        return not pronouns
    words = set((person or "").lower().split())
    is_woman, is_man = words & WOMEN or discourse.pronouns & _SHE, words & MEN or discourse.pronouns & _HE
    if (is_woman and pronouns & _HE) or (is_man and pronouns & _SHE):
        return False
    if clause.subject.lower_ == "they" and person == DEFAULT_SPEAKER:
        return not discourse.several
    last = (person or "").rpartition(" ")[2]
    is_several = last.islower() and is_plural(last)  # not `uncle James`
    return is_several if clause.subject.lower_ == "they" else not (is_several and clause.subject.lower_ in _HE | _SHE)


_HE = frozenset({"he", "him", "his", "himself"})
_SHE = frozenset({"she", "her", "hers", "herself"})


def pronouns_of_others(clause: Clause) -> frozenset[str]:
    """Return the singular pronouns of a clause that mean others."""
    return frozenset(token.lower_ for token in (clause.subject, *clause.tokens)) & (_HE | _SHE)


def means_somebody_before(clause: Clause) -> bool:
    """Return whether a pronoun means somebody of an earlier sentence."""
    named = False
    for token in (*clause.subject.subtree, *clause.tokens):
        if token.lower_ in OTHERS and (not named or is_object_of(token, clause.head)):
            return True
        is_name = token == clause.subject and token.text[:1].isupper()  # whatever the parser takes it for
        named = named or is_name or token.pos_ in ("NOUN", "PROPN") or is_first(token)
    return False


def remember_person(clause: Clause, context: SpeakerContext, discourse: Discourse, *, is_resolved: bool) -> None:
    """Keep the only person that a clause names, if they are its subject; forget the earlier one if it names others."""
    subject = clause.subject
    discourse.several = any(token.tag_ == "NNS" or token.lower_ == "them" for token in clause.tokens)
    if subject.ent_type_ == "ORG" and subject.pos_ == "PROPN":
        discourse.person = discourse.firm = phrase_of_person(subject, context)
        return
    if (named := _named_within(clause)) is not None:
        discourse.person = phrase_of_person(named, context)
        return
    introduced = next((child for child in clause.head.children if child.dep_ == "attr" and is_person(child)), None)
    if subject.lower_ in ("it", "this", "that") and introduced is not None:
        discourse.person = phrase_of_person(introduced, context)
        return
    if is_first(subject) and (owned := _introduced(clause)) is not None:
        discourse.person = f"{context.name_within}'s {owned}"
        return
    own = {token.i for token in subject.subtree} | _named_kin(subject)
    told = [part for part in clause.tokens if part.i not in own and _is_told_of(part, context)]
    others = [part for part in told if part.dep_ not in ("attr", "oprd", "appos")]
    # `It's nice here` names nobody else.
    is_kept = subject.pos_ == "PRON" and (context.addressee is not None or _is_relative(discourse.person, context))
    if is_person(subject) or (subject.lemma_.lower() in PETS and any(subject.children)):
        # `Ann and I`
        is_only = not others and not any(child.dep_ == "conj" and not is_first(child) for child in subject.children)
        discourse.person = phrase_of_person(subject, context) if is_only else None
    elif len(others) == 1 and (is_first(subject) or subject.pos_ == "PRON") and is_known_person(others[0], context):
        discourse.person = phrase_of_person(others[0], context)
    elif not others and (owner := _owner(subject, context)) is not None:
        discourse.person = phrase_of_person(owner, context)
    elif others or not (is_resolved or _is_speakers_own(subject) or is_kept):
        discourse.person = None


def _named_within(clause: Clause) -> "Token | None":
    """Return who is named: `it's a lab mix named Moose`, `his name's Callum`, `the plumber is called Ida`."""
    if clause.subject.lemma_ == "name" and any(map(is_user, clause.subject.children)):
        return None
    if clause.subject.lemma_ == "name" or clause.head.lower_ in ("called", "named"):
        names = (child for child in clause.head.children if child.dep_ in ("attr", "oprd") and child.pos_ == "PROPN")
        is_known = is_person(clause.subject) or clause.subject.lemma_.lower() in PETS
        is_told = not is_known or any(part.lower_ in OTHERS for part in clause.subject.subtree)
        return next(names, None) if is_told else None
    named = (token for token in clause.tokens if token.lower_ in ("named", "called") and token.dep_ == "acl")
    return next((child for token in named for child in token.children if child.pos_ == "PROPN"), None)


def only_relative(doc: "Doc", context: SpeakerContext, before: str | None) -> str | None:
    """Return whom a question or a request means, where it is one of the speaker's: `a gift for my brother?`."""
    named = [token for token in doc if _is_told_of(token, context) and token.dep_ != "appos"]
    if not named and (asked := [token for token in doc if token.tag_ == "NNP" and token.dep_ == "nsubj"]):
        return phrase_of_person(asked[0], context)  # `how is Mango doing?`: whatever the parser takes the name for
    if not named:
        return before if _is_relative(before, context) or any(token.lower_ in OTHERS for token in doc) else None
    return phrase_of_person(named[0], context) if len(named) == 1 and is_known_person(named[0], context) else None


def _is_relative(person: str | None, context: SpeakerContext) -> bool:
    owners = (context.name_within, context.addressee)
    return person is not None and person.startswith(tuple(f"{owner}'s " for owner in owners))


def _owner(subject: "Token", context: SpeakerContext) -> "Token | None":
    """Return whose the subject is, where it is one of the speaker's: `my brother's wedding`."""
    return next((child for child in subject.children if child.dep_ == "poss" and _is_theirs(child, context)), None)


def _introduced(clause: Clause) -> str | None:
    """Return who a clause says that the speaker has: `sister` of `I have a baby sister`."""
    things = [child for child in clause.head.children if child.dep_ in ("dobj", "attr")]
    if len(things) != 1 or things[0].lemma_.lower() not in KIN or things[0].tag_ != "NN":
        return None
    kinds = {child.lower_ for child in things[0].children if child.dep_ in ("det", "nummod", "poss")}
    is_named = any(child.dep_ in ("conj", "appos") for child in things[0].children)
    return things[0].text.lower() if kinds and kinds <= _ONE and not is_named else None


_THE_USER = re.compile(r"^(?:the )?user\b", re.IGNORECASE)
_ONE = frozenset({"a", "an", "one", "another"})


def _named_kin(subject: "Token") -> set[int]:
    """Return the place of whom a name stands behind, where the parser keeps the two apart: `my cousin Farah`."""
    first = subject.left_edge
    is_kin = subject.pos_ == "PROPN" and first.i > 0 and first.nbor(-1).lemma_.lower() in KIN
    return {first.i - 1} if is_kin else set()


def _is_speakers_own(subject: "Token") -> bool:
    """Return whether a clause is about the speaker or a thing of theirs: whom they spoke of before is still meant."""
    return is_first(subject) or (subject.pos_ == "NOUN" and any(map(is_first, subject.children)))


def is_person(token: "Token") -> bool:
    """Return whether a word means a person, by its meaning or as a name where only people stand."""
    if is_user(token):
        return True
    if token.pos_ == "NOUN":
        return token.lemma_.lower() in HUMAN and token.dep_ != "compound"
    # The parser takes a rare name for a people's or for none.
    is_rare = token.tag_ == "NNP" and token.ent_type_ in ("", "NORP") and (token.dep_ == "nsubj" or _is_met(token))
    return (token.ent_type_ == "PERSON" or is_rare) and token.dep_ != "compound"


def _is_met(token: "Token") -> bool:
    """Return whether a name stands where only people do: `I met Ana`, `a present for Otto`."""
    if token.dep_ == "pobj":
        return token.head.lower_ in ("for", "with") and token.head.head.pos_ == "NOUN"
    return token.dep_ == "dobj" and token.head.lemma_ in _MEETING


def _is_theirs(token: "Token", context: SpeakerContext) -> bool:
    """Return whether somebody is the speaker's or the addressee's: `for my dad`, `for dad`, `your dad`."""
    is_owned = any(
        is_first(child) or (context.addressee is not None and child.lower_ == "your") for child in token.children
    )
    return _is_bare_parent(token) or is_user(token) or (is_person(token) and is_owned)


def is_known_person(token: "Token", context: SpeakerContext) -> bool:
    """Return whether who is spoken of has a name, is one of those who talk, or to a note's writer `the landlord`."""
    is_definite = token.lemma_.lower() in KIN and any(child.lower_ == "the" for child in token.children)
    is_named = token.pos_ == "PROPN" or (context.is_note and is_definite)
    return _is_theirs(token, context) or (is_named and is_person(token))


def _is_told_of(token: "Token", context: SpeakerContext) -> bool:
    """Return whether it is a person other than who is spoken to, and not only the name of a pet."""
    is_owner = token.dep_ == "poss" and token.tag_ == "NNS"  # `the children's hospital`
    return is_person(token) and not is_owner and token.text != context.addressee and not _is_pets_name(token)


def _is_bare_parent(token: "Token") -> bool:
    return token.lower_ in PARENTS and not any(child.dep_ in ("poss", "det", "amod") for child in token.children)


def _is_pets_name(token: "Token") -> bool:
    """Return whether a name belongs to an animal named before it: `two cats, Mimi and Tom`."""
    head = token
    while head.dep_ in ("conj", "appos") and head.head.i < head.i:
        head = head.head
    return head is not token and head.lemma_.lower() in PETS


def phrase_of_person(token: "Token", context: SpeakerContext) -> str:
    """Return a person's name as it stands, `my sister Ana` as the speaker's."""
    end = next(
        (
            child
            for child in token.children
            if child.dep_ == "appos" and child.i == token.i + 1 and child.pos_ == "PROPN"
        ),
        token,
    )
    said = token.doc[token.left_edge.i : end.i + 1]
    words = [part for part in said if not (part.is_punct or part.dep_ in ("neg", "intj", "cc"))]
    owners = {"my": context.name_within, "our": context.name_within, "your": context.addressee}
    phrase = " ".join(f"{owner}'s" if (owner := owners.get(part.lower_)) else part.text for part in words)
    if _is_bare_parent(token):
        phrase = f"{context.name_within}'s {phrase.lower()}"
    phrase = phrase.replace(" 's", "'s")
    return restore_name(_THE_USER.sub(DEFAULT_SPEAKER, phrase) if context.is_note else phrase, token.doc)

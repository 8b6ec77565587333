"""Shared subjects: whether a newer statement is about whom or what an older one is about, or names. Pure."""

from pipeline.memory.languages.english import english_words
from pipeline.memory.outlines.statement import Phrase, Statement
from pipeline.memory.outlines.vocabulary import USER, stem, stems
from pipeline.text.english_nouns import RELATIVES

_MANY = 100
"""What is no count any more, but a year or a type: `a 2009 Hilux`."""


def are_about_one(new: Statement, old: Statement) -> bool:
    """Return whether a newer statement may end an older one by whom it is about."""
    return (
        new.holder == old.holder
        or is_named_in(new, old)
        or takes_role(new, old)
        or is_users(new, old)
        or _parts_from_partner(new, old)
        or ends_service(new, old)
        or (not new.passed_state.isdisjoint(old.state) and (new.is_foreign or is_birth(new, old)))
    )


def is_named_in(new: Statement, old: Statement) -> bool:
    """Return whether the newer is about what the older names of its holder: `Aiko left us` of our designer Aiko."""
    if new.is_foreign:
        return new.topic is not None and new.topic.head in old.names and old.holder.startswith(f"{new.holder} ")
    is_somebody = new.topic is None and new.holder.rpartition(" ")[2] not in RELATIVES  # not `Olu's sister`
    return new.holder != old.holder and is_somebody and stem(new.holder) in old.names


def takes_role(new: Statement, old: Statement) -> bool:
    """Return whether somebody else is now what another was: `Deniz is scrum master now`."""
    if not new.says("now") or new.says("denied") or new.verb != old.verb or not new.state.isdisjoint(old.state):
        return False
    is_other = stem(new.holder.rpartition(" ")[2]) not in old.names | {stem(old.holder)}
    return is_other and not roles_or_objects(old).isdisjoint(phrase.head for phrase in new.objects)


def is_users(new: Statement, old: Statement) -> bool:
    """Return whether what has no owner is the user's: `doc upped the sertraline`, `appointment is at 5 now`."""
    if old.holder != USER:
        return False
    if new.is_done_to_user and names_thing_of(old, new.changes):
        return True
    if new.topic is not None:
        return False
    is_topic = old.topic is not None and stem(new.holder) == old.topic.head
    # `Goldfish died` after `has a goldfish`
    is_kept = bool(new.ended) and stem(new.holder) in {phrase.head for phrase in old.objects} - old.names
    return is_topic or is_kept or (bool(new.figures) and names_thing_of(old, new.altered))


def _parts_from_partner(new: Statement, old: Statement) -> bool:
    """Return whether somebody broke up with whom the older tells of as their partner, who is theirs no more."""
    owner, _, relation = old.holder.partition(" ")
    is_partners = owner == new.holder and relation in english_words("partners")
    return is_partners and any(of.head in old.names for of in new.ended)


def ends_service(new: Statement, old: Statement) -> bool:
    """Return whether the user let go who did something for them: `let Rosa go` after `Rosa does User's books`."""
    is_service = new.holder == USER and old.says("to_user") and old.topic is None
    return is_service and stem(old.holder) in {of.head for of in new.ended}


def is_birth(new: Statement, old: Statement) -> bool:
    """Return whether a child was born to whom the older is about, or to whose partner."""
    owner, _, child = new.holder.partition(" ")
    parent, _, partner = old.holder.partition(" ")
    is_child = child in english_words("newborns") and new.topic is None
    return is_child and owner == parent and partner in {"", *english_words("partners")}


def is_holder_of_role(new: Statement, old: Statement) -> bool:
    """Return whether the newer is about whom the older names as User's manager, or as who shares their flat."""
    if new.topic is not None:
        return False
    is_named = stem(new.holder) in old.names and (old.says("role") or old.verb in stems("sharing_verbs"))
    return is_named or (old.says("role") and old.topic is None and new.holder == old.holder)


def roles_or_objects(old: Statement) -> set[str]:
    """Return what an older statement says that somebody is: of `User's landlord is Mr Shah` the landlord, too."""
    role = {old.topic.head} if old.topic is not None and old.names_holder else set()
    return role | {phrase.head for phrase in old.objects}


def things_of(old: Statement) -> set[str]:
    """Return what an older statement is about that may end."""
    return {*old.names, *(phrase.head for phrase in old.objects), *(() if old.topic is None else (old.topic.head,))}


def names_thing_of(old: Statement, phrases: tuple[Phrase, ...]) -> bool:
    """Return whether one of these phrases names something of the older, and no other kind of it, nor one of several."""
    things = things_of(old)
    several = {unit for unit, digits in old.figures if digits.isdigit() and 1 < int(digits) < _MANY}
    return any(
        phrase.head in things and phrase.modifiers <= old.words and (phrase.is_plural or phrase.head not in several)
        for phrase in phrases
    )

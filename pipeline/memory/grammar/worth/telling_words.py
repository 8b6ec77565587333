"""Words and phrases that tell something, or say nothing."""

from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import Clause, is_first
from pipeline.memory.languages.english import english_words
from pipeline.text.english_nouns import KIN, PARENTS, PETS
from pipeline.text.english_verbs import word_set

if TYPE_CHECKING:
    from spacy.tokens import Token

_HOUSEHOLD = word_set("kid kids children twins baby dog cat dogs cats puppy kitten wife husband")
HUMAN = (KIN - PETS) | word_set("man woman boy girl guy lady person student nurse lawyer")
STRONG = english_words("strong_verbs")
_BESIDE_NAME = frozenset({"case", "cc", "conj", "punct", "appos"})
_INTENDING = english_words("intending_verbs")
NAMES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "PRODUCT", "EVENT", "WORK_OF_ART", "NORP", "LANGUAGE"})
QUANTITIES = frozenset({"DATE", "TIME", "CARDINAL", "MONEY", "QUANTITY", "ORDINAL", "PERCENT"})
POSSIBLE = frozenset({"can", "could", "'ll", "will"})
_PHRASES = english_words("strong_phrases")
EMPTY = english_words("empty_verbs")
EVALUATIONS = english_words("evaluations")
VAGUE_OBJECTS = english_words("vague_objects")
CHANGES = word_set("now again anymore back instead longer up down gone")
"""Words that say that something became different, in a note."""
TRAITS = english_words("traits")


def is_own_kin(token: "Token") -> bool:
    """Return whether `mum` or `the kids` means the speaker's own."""
    determiners = [
        child.lower_ for child in token.children if child.dep_ in ("det", "poss", "nummod", "amod", "compound")
    ]
    if token.lower_ in PARENTS:
        return not determiners
    return (
        token.lower_ in _HOUSEHOLD
        and determiners == ["the"]
        and not any(child.dep_ in ("prep", "relcl") for child in token.children)
    )


def is_user(token: "Token") -> bool:
    """Return whether `User` or `the user` is whom an assistant's note is about: not `a user`, `the user who left`."""
    is_plain = all(child.lower_ == "the" or child.dep_ in _BESIDE_NAME for child in token.children)
    return token.lower_ == "user" and token.dep_ != "compound" and is_plain


def is_phrase(head: "Token") -> bool:
    """Return whether a verb says more with the particle after it: `passed away`."""
    after = (child.lower_ for child in head.rights if child.dep_ in ("prt", "prep", "advmod"))
    return f"{head.lemma_.lower()} {next(after, '')}" in _PHRASES


def is_own_of(subject: "Token", kind: frozenset[str]) -> bool:
    """Return whether it is one of a kind, and the speaker's: `my physio`, `my knee`."""
    return subject.lemma_.lower() in kind and is_of_speaker(subject)


def cannot_stand(head: "Token") -> bool:
    """Return whether it says that somebody hates something."""
    return head.lemma_ == "stand" and any(child.dep_ == "neg" for child in head.children)


def is_of_speaker(subject: "Token") -> bool:
    """Return whether a noun is the speaker's: `my lease`."""
    return any(is_first(child) and child.dep_ == "poss" for child in subject.children)


def is_generic(token: "Token") -> bool:
    """Return whether a noun says nothing by itself: `some good advice`, `a few plans`, `their dream`."""
    detailed = any(child.dep_ in ("prep", "compound", "relcl", "acl", "appos", "nummod") for child in token.children)
    return token.lemma_.lower() in GENERIC and not detailed


GENERIC = english_words("generic_nouns")


def intended_act(clause: Clause) -> "Token | None":
    """Return what somebody wants, likes or begins to do, or thought once: `want to learn`, `used to think`."""
    head = clause.head
    is_past_thought = head.lower_ == "used" and any(child.lemma_ in EMPTY for child in head.children)
    if head.lemma_.lower() not in _INTENDING and not is_past_thought:
        return None
    inner = [child for child in head.children if child.dep_ in ("xcomp", "pcomp")]
    inner += [
        grand for child in head.children if child.dep_ == "prep" for grand in child.children if grand.dep_ == "pcomp"
    ]
    return next(iter(inner), None)


def is_misread(token: "Token") -> bool:
    """Return whether a thing was read as an adverb: `I want a tattoo`, `I uninstalled WoW`."""
    has_article = any(child.dep_ in ("det", "poss") for child in token.children)
    if token.dep_ == "xcomp" and token.tag_ == "VB":
        return not any(token.children)  # `I can't eat gluten`
    return token.dep_ == "advmod" and token.lower_ not in CHANGES and (has_article or token.ent_type_ in NAMES)


SCHEDULED = word_set("ready available due open closed free valid")
"""What something is from or until a day."""


def has_number(clause: Clause) -> bool:
    return any(token.like_num for token in clause.tokens)


def is_concrete(token: "Token") -> bool:
    """Return whether a noun means a thing, and neither a judgement nor a day."""
    lemma = token.lemma_.lower()
    return (
        token.pos_ == "NOUN" and lemma not in VAGUE_OBJECTS and lemma not in EVALUATIONS and token.ent_type_ != "DATE"
    )


def points_at_something(token: "Token") -> bool:
    """Return whether a word points at what was said or is seen: `this one`."""
    return token.dep_ == "det" and token.lower_ in ("this", "that", "these", "those") and not token.head.ent_type_

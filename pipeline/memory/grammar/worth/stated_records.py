"""Sentences of documents that state something specific of a thing: a rule, number, date or name."""

from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import Clause, auxiliaries
from pipeline.memory.grammar.worth.telling_words import (
    CHANGES,
    EVALUATIONS,
    NAMES,
    QUANTITIES,
    SCHEDULED,
    points_at_something,
)
from pipeline.memory.languages.english import english_words
from pipeline.text.english_verbs import is_third_person, word_set

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token


def is_record(clause: Clause) -> bool:
    """Return whether a clause of a document states something specific of a thing: a rule, number, date or name.

    Only where the writer means to keep it: `Refunds go out within five days`, not `Great teams are built on trust`.
    """
    head, subject = clause.head, clause.subject
    if subject.pos_ not in ("NOUN", "PROPN", "NUM") and subject.tag_ != "VBG":
        return False
    if subject.lower_ in UNNAMED_SUBJECTS or not _is_finite(head) or head.lemma_.lower() in OPINION_VERBS:
        return False
    words = (*clause.subject.subtree, *clause.tokens)
    if any(points_at_something(token) or token.lower_ in _TOLD for token in words) or _judges(head):
        return False
    is_rule = any(token.lower_ in _RULES for token in clause.tokens) or _is_ruled(head)
    is_activity = subject.tag_ == "VBG" and not any(subject.children)
    return is_rule or (not is_activity and any(_is_specific(token, subject) for token in words))


def is_of_things_in_general(clause: Clause) -> bool:
    """Return whether a note has no more than a noun before what that does in general: `kids grow up in ten years`."""
    is_bare = all(child.dep_ == "npadvmod" for child in clause.subject.children)
    return is_bare and clause.head.lemma_ != "be" and clause.head.tag_ in ("VBZ", "VBP")


def is_record_without_verb(doc: "Doc") -> bool:
    """Return whether words without a verb name something and say a figure or name of it: `Mrs Quill, 88, fall risk.`"""
    is_told = any(token.lower_ in _TOLD or points_at_something(token) for token in doc)
    # A heading is not divided: `Office hours in Room 118`.
    is_divided = len(doc) >= _MIN_RECORD_WORDS and any(token.text in (",", ":") for token in doc)
    is_thing = doc[0].pos_ in ("PROPN", "NOUN", "NUM") and doc[0].lower_ not in UNNAMED_SUBJECTS
    return is_thing and is_divided and not is_told and any(_is_specific(token, doc[0]) for token in doc[1:])


def is_misread_record(doc: "Doc") -> bool:
    """Return whether a sentence without a clause is a record, its verb read as a noun: `The bus leaves at 7.15.`"""
    verb = next((token for token in doc[1:-1] if token.tag_ == "NNS" and is_third_person(token.lower_)), None)
    if verb is None or doc[0].lower_ in UNNAMED_SUBJECTS or verb.nbor(-1).tag_ not in _BEFORE_VERBS:
        return False
    is_told = any(token.lower_ in _TOLD or points_at_something(token) for token in doc)
    return (
        verb.nbor().dep_ in _AFTER_VERBS and not is_told and any(_is_specific(token, verb) for token in doc[verb.i :])
    )


_MIN_RECORD_WORDS = 6
_BEFORE_VERBS = frozenset({"NN", "NNP", "NNPS", "VBG"})
_AFTER_VERBS = frozenset({"prep", "prt", "advmod"})
_RULES = english_words("rule_words")
UNNAMED_SUBJECTS = english_words("unnamed_subjects")
OPINION_VERBS = english_words("verbs_of_opinion")
_TOLD = word_set("then thus therefore me us you your i we our my figure table section chapter appendix")
"""Words that speak to a reader, or point to another place of a text."""
_MODALS = word_set("must shall may")
_PRESENT = word_set("today now nowadays currently these day days time times year years week month one")
"""What is no time or number by itself."""


def _is_finite(head: "Token") -> bool:
    return head.tag_ in ("VBZ", "VBP", "VBD") or any(
        helper.tag_ in ("VBZ", "VBP", "VBD") or helper.lower_ in _MODALS | {"will"} for helper in auxiliaries(head)
    )


def _judges(head: "Token") -> bool:
    said = [child for child in head.children if child.dep_ in ("attr", "acomp", "oprd")]
    said = [word for word in said if word.lower_ not in SCHEDULED]
    return any(word.lemma_.lower() in EVALUATIONS or word.tag_ == "JJS" for word in said)


def _is_ruled(head: "Token") -> bool:
    """Return whether a thing has to be done, or must not: `samples must not be frozen`."""
    is_bound = any(child.dep_ in ("auxpass", "neg") or child.lower_ == "only" for child in head.children)
    return is_bound and any(helper.lower_ in _MODALS for helper in auxiliaries(head))


def _is_specific(token: "Token", subject: "Token") -> bool:
    """Return whether a word names or counts something, beside the subject itself."""
    if token.lower_ in _PRESENT or token.lower_ in CHANGES:
        return False
    if token.like_num or token.tag_ == "CD":
        return True
    return token != subject and (token.pos_ == "PROPN" or token.ent_type_ in NAMES | QUANTITIES)

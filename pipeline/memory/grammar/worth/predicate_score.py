"""Score of what a clause says of its subject, by its verb and what is said, done or had."""

from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import OTHERS, Clause, auxiliaries, has_object, is_first, is_passive
from pipeline.memory.grammar.worth.telling_words import (
    CHANGES,
    EMPTY,
    EVALUATIONS,
    QUANTITIES,
    SCHEDULED,
    STRONG,
    VAGUE_OBJECTS,
    cannot_stand,
    has_number,
    intended_act,
    is_generic,
    is_misread,
    is_of_speaker,
    is_own_of,
    is_phrase,
)
from pipeline.memory.languages.english import english_words
from pipeline.text.english_nouns import BODY, HELPERS
from pipeline.text.english_verbs import word_set

if TYPE_CHECKING:
    from spacy.tokens import Token

_WITH_OBJECT = frozenset({"keep", "see", "bring", "stand"})
_LIGHT = frozenset({"have", "get", "make", "take", "give", "do", "spend"})
_LIKING = frozenset({"like", "love", "enjoy"})
_PLACING = frozenset({"in", "from", "at", "on", "off", "into", "out", "back"})
_BESIDE = frozenset({"by", "near", "under", "behind", "opposite", "above", "below"})
"""Where a thing stands; a person is there for the moment."""
_REQUESTED = english_words("requested")
_OF_THE_MOMENT = word_set("laptop phone computer mobile way break call couch sofa toilet")
_SPELLS = word_set("age moment while minute hour morning afternoon evening day week month year time")
_NO_MORE = frozenset({"anymore", "longer", "more"})


def predicate_score(clause: Clause) -> tuple[float, str]:
    """Score a clause by its verb, with the reason."""
    head = clause.head
    lemma = head.lemma_.lower()
    objects = [child for child in head.children if child.dep_ == "dobj"]
    is_age = lemma == "turn" and any(child.like_num for child in head.children)
    is_change = (is_phrase(head) and not _looks_for_help(head)) or is_age or _has_new_value(head) or _is_over(clause)
    if (own := _own_state(clause)) is not None or is_change:
        return 2.0, own or f"{lemma}, a change"
    if lemma in _WITH_OBJECT and (objects or any(child.dep_ == "oprd" for child in head.children)):
        return (2.0, "cannot stand") if cannot_stand(head) else (1.0, lemma)
    if _is_bare(clause) and not _is_habit(clause):
        return (1.5 if _is_complaint(clause) else -1.0), f"{lemma} alone"
    if lemma == "be":
        return copula_score(clause)
    if lemma == "have" and not objects and (acts := [child for child in head.children if _is_duty_or_done(child)]):
        is_done = acts[0].dep_ == "ccomp"
        return (2.0 if is_done else -1.0 if acts[0].lemma_ in EMPTY else 1.0), f"have to {acts[0].lemma_}"
    if lemma in _LIGHT:
        return _light_verb_score(head, objects)
    if objects and (is_generic(objects[0]) or (lemma == "need" and objects[0].lemma_.lower() in _REQUESTED)):
        return -1.0, f"{lemma} {objects[0].lemma_}"
    if lemma in _LIKING and objects and objects[0].lemma_.lower() in VAGUE_OBJECTS | EVALUATIONS:
        return 0.0, lemma
    if (inner := intended_act(clause)) is not None:
        is_empty = inner.lemma_ in EMPTY and lemma != "stop"
        return (-1.0 if is_empty else 1.5), f"{lemma} {inner.lemma_}"
    return (2.0 if lemma in STRONG else -2.0 if lemma in EMPTY else 1.0), lemma


def _looks_for_help(head: "Token") -> bool:
    """Return whether it looks for what an assistant gives: a recipe, and not a flat."""
    return any(child.lemma_.lower() in _REQUESTED for part in head.rights for child in part.rights)


def _is_duty_or_done(token: "Token") -> bool:
    """Return whether it is what somebody has to do, or had done: `I had my hearing aids fitted`."""
    return token.dep_ == "xcomp" or (token.dep_ == "ccomp" and token.tag_ == "VBN")


def _own_state(clause: Clause) -> str | None:
    """Return what a clause tells of the speaker's health and habits, whatever its verb is worth elsewhere."""
    lemma, subject = clause.head.lemma_.lower(), clause.subject
    if lemma == "say" and is_own_of(subject, _TREATING) and has_number(clause):
        return "who treats the speaker says how long"
    if lemma == "handed" and is_first(subject):
        return "left-handed"
    is_up = lemma in _RISING and any(child.lower_ == "up" for child in clause.head.children)
    if is_up and clause.head.tag_ in ("VBP", "VBZ", "VBG") and has_number(clause):
        return "when somebody gets up"
    if lemma in _ABILITIES and _is_denied_alone(clause):
        return f"does not {lemma}"
    is_said = any(part.dep_ == "attr" for part in clause.head.children)
    is_body = lemma in _FARING and is_own_of(subject, BODY) and not is_said
    return "how a part of the speaker is" if is_body else None


_FARING = frozenset({"be", "hurt", "ache", "sting", "itch"})
"""Verbs that say how a part of somebody is."""
_RISING = frozenset({"wake", "get"})
_TREATING = HELPERS | {"doctor", "dentist", "therapist"}


def _is_complaint(clause: Clause) -> bool:
    """Return whether it says how somebody or a part of theirs fares: `my knee hurts`, `I sleep badly`."""
    head = clause.head
    is_own = clause.subject.lower_ != "i" and any(token.lower_ in ("my", "our") for token in clause.subject.subtree)
    manner = any(child.dep_ == "advmod" and child.i > head.i and child.lower_.endswith("ly") for child in head.children)
    return (
        head.tag_ in ("VBP", "VBZ") and head.pos_ == "VERB" and head.lemma_.lower() not in EMPTY and (is_own or manner)
    )


def _is_over(clause: Clause) -> bool:
    """Return whether something is over: `the trip is off`, `the rash is gone`."""
    head = clause.head
    if head.lemma_ in _ENDING and head.tag_ in ("VBD", "VBN") and _is_bare(clause) and is_of_speaker(clause.subject):
        return True
    if head.lower_ == "gone" and any(child.lemma_ == "be" for child in auxiliaries(head)):
        return True
    said = [child for child in head.children if head.lemma_ == "be" and child.dep_ in ("advmod", "prep", "prt")]
    return any(word.lower_ in ("off", "over", "gone") and word == clause.tokens[-1] for word in said)


_ENDING = word_set("expire lapse break die end close")
"""What may become of a thing: `my licence expired`."""


def _has_new_value(head: "Token") -> bool:
    """Return whether something was changed to a number or time: `my meeting got pushed to 11:30`."""
    is_set = is_passive(head) or (head.lemma_ in _SETTING and has_object(head))
    near = [part for child in head.children for part in (child, *child.children)]
    ends = [part for part in near if part.dep_ == "prep" and part.lower_ in ("to", "until")]
    return is_set and any(part.tag_ == "CD" or part.ent_type_ in QUANTITIES for end in ends for part in end.subtree)


_SETTING = frozenset({"put", "raise", "increase", "lower", "reduce", "bump", "extend", "cut"})


def _is_habit(clause: Clause) -> bool:
    """Return whether a verb alone tells a habit: `I smoke`, `I don't drive`."""
    lemma = clause.head.lemma_.lower()
    changed = any(token.lower_ in CHANGES for token in clause.tokens)
    is_present = (
        (clause.head.tag_ == "VBP" or (changed and clause.head.tag_ == "VBG"))
        and is_first(clause.subject)
        and lemma not in _LIKING
    )
    is_denied = any(child.dep_ == "neg" for child in clause.head.children)
    if is_denied and is_first(clause.subject) and clause.tokens[-1].lower_ in _NO_MORE:
        return True
    return lemma in STRONG and (is_present or is_denied)


_ABILITIES = frozenset({"drink", "smoke", "vape", "gamble", "drive", "swim", "cook", "walk", "talk", "speak", "cycle"})


def _is_denied_alone(clause: Clause) -> bool:
    """Return whether the speaker or theirs never do something: `I don't drink`, `my son doesn't walk yet`."""
    head, subject = clause.head, clause.subject
    is_denied = any(child.dep_ == "neg" for child in head.children) and head.tag_ == "VB"
    is_past = any(helper.tag_ == "VBD" for helper in auxiliaries(head))
    is_known = is_first(subject) or is_of_speaker(subject) or subject.lower_ in OTHERS
    return is_denied and not is_past and _is_bare(clause) and is_known


def _light_verb_score(head: "Token", objects: "list[Token]") -> tuple[float, str]:
    """Score have, get, make and the like by what is had."""
    lemma = head.lemma_.lower()
    if lemma == "get" and any(part.lower_ in _OF_THE_MOMENT for child in head.rights for part in child.rights):
        return -1.0, "what somebody does at the moment"
    if not objects:
        if is_passive(head):
            return 1.0, f"was {head.text}"  # `I got made permanent`
        is_dose = lemma == "take" and any(part.like_num for child in head.rights for part in child.subtree)
        return (1.0 if lemma == "get" or is_dose else -2.0 if lemma == "have" else -1.0), lemma
    if is_generic(objects[0]):
        return -1.0, f"{lemma} {objects[0].lemma_}"
    if lemma == "take" and objects[0].lemma_.lower() == "place":
        return 1.0, "take place"
    is_counted = any(child.like_num for child in objects[0].children)
    if lemma == "take" and objects[0].lemma_.lower() in _SPELLS and not is_counted:
        return -1.0, "takes time"
    if not is_counted and objects[0].lemma_.lower() in VAGUE_OBJECTS | EVALUATIONS:
        return -1.0, f"{lemma} {objects[0].lemma_}"
    return (2.0 if lemma in ("have", "get") else 1.0), lemma


def _is_bare(clause: Clause) -> bool:
    """Return whether nothing follows the verb: `I've moved`."""
    if any(child.dep_ == "conj" for child in clause.subject.children):
        return False
    if is_passive(clause.head):
        return False  # `I got promoted` says it all
    if clause.head.tag_ == "VBD" and (
        clause.head.lemma_ in _TELLS_ALL or (clause.head.lemma_ in _LEAVING and clause.subject.pos_ == "PROPN")
    ):
        return False
    after = [token for token in clause.tokens if token.i > clause.head.i]
    return not any(
        token.dep_ not in ("advmod", "punct", "neg") or token.pos_ == "PROPN" or is_misread(token) for token in after
    )


_TELLS_ALL = frozenset({"die", "propose", "retire", "graduate", "elope"})
"""Verbs that say all without an object, of a change that is over."""
_LEAVING = frozenset({"leave", "quit", "resign"})
"""Verbs that say it of somebody who is named: `Tom left`."""


def copula_score(clause: Clause) -> tuple[float, str]:
    """Score what somebody or something is, with the reason."""
    complement = next((child for child in clause.head.children if child.dep_ in ("attr", "acomp", "oprd")), None)
    if complement is None:
        return _place_score(clause)
    lemma = complement.lemma_.lower()
    if lemma in SCHEDULED and any(token.ent_type_ in ("DATE", "TIME") for token in clause.tokens):
        return 2.0, f"{lemma} then"
    if any(child.dep_ == "compound" and child.pos_ == "PROPN" for child in complement.children):
        return IDENTITY, f"is {lemma}"  # `a Leeds fan`
    if lemma == "fan" and any(_is_of_a_thing(child) for child in complement.children):
        return IDENTITY, "likes or not"
    if lemma == "dead" and is_first(clause.subject):
        return -2.0, "laughs"
    is_theirs = is_of_speaker(clause.subject) or clause.subject.pos_ == "PRON" or clause.subject.text[0].isupper()
    is_still = any(child.lower_ == "still" for child in clause.head.children)
    if lemma in _PASSING and complement == clause.tokens[-1] and not (is_theirs or is_still):
        return -2.0, f"passes ({lemma})"
    is_too = any(child.lower_ == "too" for child in complement.lefts) and not is_of_speaker(clause.subject)
    if is_too or lemma in EVALUATIONS or complement.tag_ == "JJS" or lemma in VAGUE_OBJECTS:
        return -2.0, f"judges ({lemma})"
    return IDENTITY, f"is {lemma}"


def _place_score(clause: Clause) -> tuple[float, str]:
    if any(child.dep_ == "prep" and child.lower_ == "into" for child in clause.head.children):
        return IDENTITY, "likes or not"
    places = _PLACING if is_first(clause.subject) else _PLACING | _BESIDE
    placed = any(
        child.dep_ in ("prep", "advmod") and child.lower_ in places and not _is_leaving(child)
        for child in clause.head.children
    )
    if any(
        part.lower_ in _OF_THE_MOMENT and part.dep_ == "pobj" and part.head.lower_ == "on" for part in clause.tokens
    ):
        return -2.0, "where somebody is for the moment"
    if placed and any(token.ent_type_ in ("DATE", "TIME") or token.like_num for token in clause.tokens):
        return 2.0, "time"
    return (1.5, "place or time") if placed or any(token.ent_type_ for token in clause.tokens) else (-1.0, "be")


_PASSING = word_set("closed open shut empty full dirty wet loud quiet")
"""What a room or a shop is for the moment: `kitchen is closed`."""


def _is_leaving(token: "Token") -> bool:
    """Return whether it is the `off` of `I'm off to bed`."""
    return token.lower_ == "off" and token.i + 1 < len(token.doc) and token.nbor().lower_ == "to"


def _is_of_a_thing(preposition: "Token") -> bool:
    """Return whether a preposition names a thing: `of jazz`, not `of yours`."""
    return preposition.lower_ == "of" and any(child.pos_ in ("NOUN", "PROPN") for child in preposition.children)


IDENTITY = 2.0
"""Score of what somebody or something is."""

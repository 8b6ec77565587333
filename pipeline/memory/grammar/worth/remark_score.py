"""Score of a remark among people, which tells less than a note that somebody wants kept."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import OTHERS, Clause, auxiliaries, is_first, is_passive
from pipeline.memory.grammar.speaker_context import SpeakerContext
from pipeline.memory.grammar.worth.predicate_score import IDENTITY, copula_score
from pipeline.memory.grammar.worth.telling_words import (
    EVALUATIONS,
    GENERIC,
    NAMES,
    POSSIBLE,
    STRONG,
    TRAITS,
    VAGUE_OBJECTS,
    has_number,
    intended_act,
    is_concrete,
    is_generic,
    is_of_speaker,
    is_own_kin,
    is_phrase,
)
from pipeline.text.english_nouns import PARENTS, PETS
from pipeline.text.english_verbs import word_set

if TYPE_CHECKING:
    from spacy.tokens import Token


def remark_scores(clause: Clause) -> list[tuple[float, str]]:
    """Score a remark among people, by weights of a logistic regression on remarks that were read and judged."""
    head = clause.head
    body = [token for token in clause.tokens if token.i > head.i]
    is_move = head.lemma_ != "be"
    lemmas = [
        token.lemma_.lower()
        for token in body
        if token.dep_ not in ("prt", "npadvmod")
        and token.ent_type_ != "DATE"
        and not (is_move and token.dep_ == "advmod" and token.lower_ in _DIRECTIONS)
    ]
    is_strong, is_past = head.lemma_.lower() in STRONG, head.tag_ == "VBD"
    is_named = any(token.pos_ == "PROPN" or token.ent_type_ in NAMES for token in body)
    is_identity = head.lemma_ == "be" and copula_score(clause)[0] == IDENTITY
    said = sum(token.pos_ in ("NOUN", "PROPN", "VERB", "ADJ", "NUM") for token in body)
    counts = (
        (-1.9, "a remark", 1),
        (1.0, "a noun with a noun before it", any(token.dep_ == "compound" for token in body)),
        (1.0, "a day", any(token.ent_type_ in ("DATE", "TIME") for token in clause.tokens)),
        (-0.8, "judges", min(3, sum(lemma in EVALUATIONS for lemma in lemmas))),
        (-0.35, "vague", min(3, sum(lemma in VAGUE_OBJECTS | GENERIC for lemma in lemmas))),
        (0.55, "concrete", min(3, sum(is_concrete(token) and not _is_abstract(token) for token in body))),
        (-0.8, "the thing spoken of before", not is_strong and any(map(_is_definite_alone, body))),
        (-0.65, "loose parts", any(_is_loose(token, clause) for token in clause.tokens)),
        (-0.75, "we", clause.subject.lower_ == "we"),
        (0.55, "the speaker", is_first(clause.subject)),
        (0.5, "an owner", any(child.dep_ == "poss" for child in clause.subject.children)),
        (0.45, "something owned", any(token.dep_ == "poss" for token in body)),
        (-0.5, "a pronoun", any(token.lower_ in ("it", "they", "them") for token in clause.tokens)),
        (-0.4, "a wish", head.lemma_ in _WANTING and not is_named),
        (0.75, "an aim with a name", is_named and intended_act(clause) is not None),
        (0.5, "past", is_past),
        (0.75, "a change of life", is_strong and head.tag_ in ("VBD", "VBN")),
        (0.6, "a habit", is_strong and head.tag_ in ("VBP", "VBZ", "VB")),
        (0.45, "a place or partner", any(token.dep_ == "pobj" and token.head.head == head for token in body)),
        (0.45, "added", any(token.lower_ in ("too", "also", "another", "even") for token in clause.tokens)),
        (-0.6, "few words", said < 2 and not (is_strong or is_named or is_identity)),
        (1.0, "an identity", is_identity),
    )
    return [(weight * count, why) for weight, why, count in counts]


def is_lasting_remark(clause: Clause) -> bool:
    """Return whether a remark tells what stays: a name, a diet, what was given up, who lives with them, a pet."""
    head, subject = clause.head, clause.subject
    lemma, is_own = head.lemma_.lower(), is_of_speaker(subject)
    if lemma in ("call", "name") or (lemma == "be" and subject.lemma_ == "name"):
        is_named = any(child.dep_ in ("oprd", "attr") and child.pos_ == "PROPN" for child in head.children)
        return is_named and any(map(is_first, subject.subtree))
    if lemma in _CONSUMING and head.tag_ == "VB":
        is_denied = any(child.dep_ == "neg" for child in head.children)
        is_done = any(helper.lower_ in ("did", "would") for helper in auxiliaries(head))
        return is_first(subject) and is_denied and not is_done and any(c.pos_ in ("NOUN", "PROPN") for c in head.rights)
    if lemma in _UNDERGONE:
        return is_first(subject) and is_passive(head)
    if lemma in ("stop", "quit"):
        return is_first(subject) and any(child.tag_ == "VBG" for child in head.children)
    if lemma in ("stay", "live"):
        with_whom = [child for child in head.children if child.dep_ == "prep" and child.lower_ == "with"]
        return (is_own or is_own_kin(subject)) and any(is_first(part) for prep in with_whom for part in prep.children)
    objects = [child for child in head.children if child.dep_ == "dobj"]
    return lemma in ("get", "adopt") and is_first(subject) and any(_is_new_pet(thing) for thing in objects)


def _is_new_pet(thing: "Token") -> bool:
    return thing.lemma_.lower() in PETS and any(child.lower_ in ("a", "an", "another") for child in thing.children)


_UNDERGONE = word_set("lay fire promote diagnose evict admit")
"""What changes the life of whom it is done to: `I got laid off`."""
_CONSUMING = frozenset({"eat", "drink", "smoke", "wear", "use"})


def is_plain(clause: Clause, context: SpeakerContext, remarks: Iterable[tuple[float, str]]) -> bool:
    """Return whether a clause about the speaker or theirs says what, where or when by a name, number or concrete noun.

    Who tells that tells it as they would alone, whoever else is there. No weight of a remark may speak against it.
    """
    head, subject = clause.head, clause.subject
    owners = subject.doc[subject.left_edge.i : subject.i + 1]
    is_child = PARENTS.isdisjoint(context.speaker_name.lower().split())
    is_own = (is_own_kin(subject) and is_child) or any(is_first(token) for token in owners)
    is_name = subject.pos_ == "PROPN" and subject.ent_type_ in ("PERSON", "")
    is_own = is_own or subject.lower_ in OTHERS or is_name
    is_strong = head.lemma_.lower() in STRONG or is_phrase(head)
    is_dated = any(token.ent_type_ in ("DATE", "TIME") for token in clause.tokens)
    is_act = head.lemma_ != "be" and not is_passive(head)
    # What several did is told of one of them where it changes a life or has its day.
    harmless = _OF_EVERY_REMARK | ({"we"} if is_strong or (is_dated and is_act) else set())
    if not is_own or any(score < 0 and why not in harmless for score, why in remarks):
        return False
    is_possible = any(child.tag_ == "MD" and child.lower_ in POSSIBLE for child in auxiliaries(head))
    is_denied = any(child.dep_ == "neg" for child in head.children)
    if (is_possible and not is_denied) or any(token.lower_ in _EMPHATIC for token in clause.tokens):
        return False
    if head.tag_ in ("VBD", "VBN") and not (is_first(subject) or auxiliaries(head) or has_number(clause)):
        return is_strong  # `my flatmate ate my leftovers` passes
    if any(token.lower_ in TRAITS for token in clause.tokens):
        return True
    said = [child for child in head.children if child.dep_ in ("dobj", "attr", "acomp") or child.ent_type_ in NAMES]
    said += [grand for child in head.children if child.dep_ == "prep" for grand in child.children]
    if (act := intended_act(clause)) is not None:  # `I went swimming on Friday`, `I love baking bread`
        said += [act] if is_dated and act.tag_ == "VBG" else [child for child in act.children if child.dep_ == "dobj"]
    return any(map(_is_definite_thing, said))


def _is_definite_thing(token: "Token") -> bool:
    """Return whether a word names or counts something, or is a concrete noun that is not just one of some."""
    is_named = token.pos_ == "PROPN" or token.ent_type_ in NAMES or token.like_num or token.lower_ in TRAITS
    if is_named or token.dep_ == "xcomp":
        return True
    is_some = any(child.lower_ in _EMPHATIC for child in token.subtree)
    if token.dep_ == "dobj" and token.pos_ == "ADJ":
        return not is_some  # a noun that the parser does not know: `cilantro`
    return not is_some and is_concrete(token) and not _is_abstract(token) and not is_generic(token)


_EMPHATIC = frozenset({"really", "so", "such", "some", "few", "much", "more", "too"})
_OF_EVERY_REMARK = frozenset({"a remark", "few words"})
_LOOSE = frozenset({"dep", "intj", "parataxis", "csubj", "appos"})


def _is_loose(token: "Token", clause: Clause) -> bool:
    """Return whether a word stands beside the clause; what names its subject does not: `my sister Clara`."""
    is_name = token.dep_ == "appos" and (token.pos_ == "PROPN" or token.head == clause.subject)
    return token.dep_ in _LOOSE and not is_name


_DIRECTIONS = frozenset({"back", "up", "down"})
"""Where a move goes, which are judgements elsewhere: `I'm back`, `he's down`."""
_WANTING = frozenset({"want", "hope", "wish", "try", "need", "plan"})
_ABSTRACT = ("ness", "ity", "tion", "sion", "ment", "ence", "ance", "ship", "ism", "ude", "ure", "hood", "dom", "th")


def _is_abstract(token: "Token") -> bool:
    return token.lemma_.lower().endswith(_ABSTRACT)


def _is_definite_alone(token: "Token") -> bool:
    """Return whether a noun means a thing that was named before: `the project`, not `the school board`."""
    if token.pos_ != "NOUN" or token.ent_type_ or is_own_kin(token):
        return False
    is_pointed = any(child.dep_ == "det" and child.lower_ in _DEFINITE for child in token.children)
    return is_pointed and _SPECIFYING.isdisjoint(child.dep_ for child in token.children)


_DEFINITE = frozenset({"the", "this", "that", "these", "those"})
_SPECIFYING = frozenset({"amod", "compound", "prep", "relcl", "acl", "appos", "nummod", "poss"})

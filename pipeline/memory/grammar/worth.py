"""Worth of a clause as a memory: a score with its reasons."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import OTHERS, Clause, auxiliaries, has_object, is_first, is_passive
from pipeline.memory.grammar.speaker_context import SpeakerContext
from pipeline.memory.languages.english import english_words
from pipeline.memory.languages.short_messages import SURELY_MEMORABLE
from pipeline.text.english_nouns import BODY, HELPERS, KIN, PARENTS, PETS
from pipeline.text.english_verbs import is_gerund, is_third_person, word_set

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

DEFAULT_MIN_WORTH = 3.5
"""Score from which a clause becomes a memory."""
_HOUSEHOLD = word_set("kid kids children twins baby dog cat dogs cats puppy kitten wife husband")
HUMAN = (KIN - PETS) | word_set("man woman boy girl guy lady person student nurse lawyer")
_STRONG = english_words("strong_verbs")
_WITH_OBJECT = frozenset({"keep", "see", "bring", "stand"})
_LIGHT = frozenset({"have", "get", "make", "take", "give", "do", "spend"})
_LIKING = frozenset({"like", "love", "enjoy"})
_INTENDING = english_words("intending_verbs")
_NAMES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "PRODUCT", "EVENT", "WORK_OF_ART", "NORP", "LANGUAGE"})
_QUANTITIES = frozenset({"DATE", "TIME", "CARDINAL", "MONEY", "QUANTITY", "ORDINAL", "PERCENT"})
_BOUNDS = word_set("begin start end finish open close run expire lapse renew last")
_POSSIBLE = frozenset({"can", "could", "'ll", "will"})
_LONG = 25
"""Words from which a clause is long."""
_PHRASES = english_words("strong_phrases")
_EMPTY = english_words("empty_verbs")
_EVALUATIONS = english_words("evaluations")
_VAGUE_OBJECTS = english_words("vague_objects")
_PLACING = frozenset({"in", "from", "at", "on", "off", "into", "out", "back"})
_BESIDE = frozenset({"by", "near", "under", "behind", "opposite", "above", "below"})
"""Where a thing stands; a person is there for the moment."""
_CHANGES = word_set("now again anymore back instead longer up down gone")
"""Words that say that something became different, in a note."""
_REQUESTED = english_words("requested")
_OF_THE_MOMENT = word_set("laptop phone computer mobile way break call couch sofa toilet")
_SPELLS = word_set("age moment while minute hour morning afternoon evening day week month year time")
_NO_MORE = frozenset({"anymore", "longer", "more"})
_TRAITS = english_words("traits")
_MEMORABLE = 2.0


@dataclass(frozen=True, slots=True)
class Worth:
    """A score and its reasons: what added to it and what took from it. No score: it can be no memory."""

    score: float
    reasons: tuple[str, ...]

    @property
    def explanation(self) -> str:
        """The reasons in one line."""
        return f"{self.score:.1f}: {', '.join(self.reasons)}"


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


def worth(clause: Clause, context: SpeakerContext) -> Worth:
    """Score a clause; a note to the service itself is meant to be kept rather than a remark among people."""
    found: list[tuple[float, str]] = [_predicate_score(clause), _subject_score(clause, context)]
    found += _detail_scores(clause, context)
    if context.meaning >= SURELY_MEMORABLE:
        found.append((_MEMORABLE, "means what people keep"))
    if context.is_note:
        found.append((1.0, "a note"))
        is_meant = context.is_written or not (context.is_chat or _is_of_things_in_general(clause))
        if is_meant and is_record(clause):
            found.append((max(0.0, DEFAULT_MIN_WORTH - sum(score for score, _ in found)), "a record"))
    elif context.is_speech and _is_lasting_remark(clause):
        found.append((2.0, "lasts"))
    elif context.is_speech and (stated := sum(score for score, _ in found)) >= _MIN_BEFORE_REMARKS:
        remarks = _remark_scores(clause)
        alone = stated + _OF_SEVERAL * ((-_OF_SEVERAL, "one of several acts") in found)
        found += [(1.0, "a plain fact")] if alone >= _MIN_PLAIN and _is_plain(clause, context, remarks) else remarks
    return Worth(sum(score for score, _ in found), tuple(f"{why} {score:+g}" for score, why in found if score))


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
    if any(_points(token) or token.lower_ in _TOLD for token in words) or _judges(head):
        return False
    is_rule = any(token.lower_ in _RULES for token in clause.tokens) or _is_ruled(head)
    is_activity = subject.tag_ == "VBG" and not any(subject.children)
    return is_rule or (not is_activity and any(_is_specific(token, subject) for token in words))


def _is_of_things_in_general(clause: Clause) -> bool:
    """Return whether a note has no more than a noun before what that does in general: `kids grow up in ten years`."""
    is_bare = all(child.dep_ == "npadvmod" for child in clause.subject.children)
    return is_bare and clause.head.lemma_ != "be" and clause.head.tag_ in ("VBZ", "VBP")


def is_misread_record(doc: "Doc") -> bool:
    """Return whether a sentence without a clause is a record, its verb read as a noun: `The bus leaves at 7.15.`"""
    verb = next((token for token in doc[1:-1] if token.tag_ == "NNS" and is_third_person(token.lower_)), None)
    if verb is None or doc[0].lower_ in UNNAMED_SUBJECTS or verb.nbor(-1).tag_ not in _BEFORE_VERBS:
        return False
    is_told = any(token.lower_ in _TOLD or _points(token) for token in doc)
    return (
        verb.nbor().dep_ in _AFTER_VERBS and not is_told and any(_is_specific(token, verb) for token in doc[verb.i :])
    )


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
    said = [word for word in said if word.lower_ not in _SCHEDULED]
    return any(word.lemma_.lower() in _EVALUATIONS or word.tag_ == "JJS" for word in said)


def _is_ruled(head: "Token") -> bool:
    """Return whether a thing has to be done, or must not: `samples must not be frozen`."""
    is_bound = any(child.dep_ in ("auxpass", "neg") or child.lower_ == "only" for child in head.children)
    return is_bound and any(helper.lower_ in _MODALS for helper in auxiliaries(head))


def _is_specific(token: "Token", subject: "Token") -> bool:
    """Return whether a word names or counts something, beside the subject itself."""
    if token.lower_ in _PRESENT or token.lower_ in _CHANGES:
        return False
    if token.like_num or token.tag_ == "CD":
        return True
    return token != subject and (token.pos_ == "PROPN" or token.ent_type_ in _NAMES | _QUANTITIES)


def _predicate_score(clause: Clause) -> tuple[float, str]:
    head = clause.head
    lemma = head.lemma_.lower()
    objects = [child for child in head.children if child.dep_ == "dobj"]
    is_age = lemma == "turn" and any(child.like_num for child in head.children)
    is_change = (_is_phrase(head) and not _looks_for_help(head)) or is_age or _has_new_value(head) or _is_over(clause)
    if (own := _own_state(clause)) is not None or is_change:
        return 2.0, own or f"{lemma}, a change"
    if lemma in _WITH_OBJECT and (objects or any(child.dep_ == "oprd" for child in head.children)):
        return (2.0, "cannot stand") if _cannot_stand(head) else (1.0, lemma)
    if _is_bare(clause) and not _is_habit(clause):
        return (1.5 if _is_complaint(clause) else -1.0), f"{lemma} alone"
    if lemma == "be":
        return _copula_score(clause)
    if lemma == "have" and not objects and (acts := [child for child in head.children if _is_duty_or_done(child)]):
        is_done = acts[0].dep_ == "ccomp"
        return (2.0 if is_done else -1.0 if acts[0].lemma_ in _EMPTY else 1.0), f"have to {acts[0].lemma_}"
    if lemma in _LIGHT:
        return _light_verb_score(head, objects)
    if objects and (_is_generic(objects[0]) or (lemma == "need" and objects[0].lemma_.lower() in _REQUESTED)):
        return -1.0, f"{lemma} {objects[0].lemma_}"
    if lemma in _LIKING and objects and objects[0].lemma_.lower() in _VAGUE_OBJECTS | _EVALUATIONS:
        return 0.0, lemma
    if (inner := _intended(clause)) is not None:
        is_empty = inner.lemma_ in _EMPTY and lemma != "stop"
        return (-1.0 if is_empty else 1.5), f"{lemma} {inner.lemma_}"
    return (2.0 if lemma in _STRONG else -2.0 if lemma in _EMPTY else 1.0), lemma


def _looks_for_help(head: "Token") -> bool:
    """Return whether it looks for what an assistant gives: a recipe, and not a flat."""
    return any(child.lemma_.lower() in _REQUESTED for part in head.rights for child in part.rights)


def _is_phrase(head: "Token") -> bool:
    """Return whether a verb says more with the particle after it: `passed away`."""
    after = (child.lower_ for child in head.rights if child.dep_ in ("prt", "prep", "advmod"))
    return f"{head.lemma_.lower()} {next(after, '')}" in _PHRASES


def _is_duty_or_done(token: "Token") -> bool:
    """Return whether it is what somebody has to do, or had done: `I had my hearing aids fitted`."""
    return token.dep_ == "xcomp" or (token.dep_ == "ccomp" and token.tag_ == "VBN")


def _own_state(clause: Clause) -> str | None:
    """Return what a clause tells of the speaker's health and habits, whatever its verb is worth elsewhere."""
    lemma, subject = clause.head.lemma_.lower(), clause.subject
    if lemma == "say" and _is_own(subject, _TREATING) and _counts(clause):
        return "who treats the speaker says how long"
    if lemma == "handed" and is_first(subject):
        return "left-handed"
    is_up = lemma in _RISING and any(child.lower_ == "up" for child in clause.head.children)
    if is_up and clause.head.tag_ in ("VBP", "VBZ", "VBG") and _counts(clause):
        return "when somebody gets up"
    if lemma in _ABILITIES and _is_denied_alone(clause):
        return f"does not {lemma}"
    is_said = any(part.dep_ == "attr" for part in clause.head.children)
    is_body = lemma in _FARING and _is_own(subject, BODY) and not is_said
    return "how a part of the speaker is" if is_body else None


_FARING = frozenset({"be", "hurt", "ache", "sting", "itch"})
"""Verbs that say how a part of somebody is."""
_RISING = frozenset({"wake", "get"})
_TREATING = HELPERS | {"doctor", "dentist", "therapist"}


def _is_own(subject: "Token", kind: frozenset[str]) -> bool:
    """Return whether it is one of a kind, and the speaker's: `my physio`, `my knee`."""
    return subject.lemma_.lower() in kind and _is_of_speaker(subject)


def _is_complaint(clause: Clause) -> bool:
    """Return whether it says how somebody or a part of theirs fares: `my knee hurts`, `I sleep badly`."""
    head = clause.head
    is_own = clause.subject.lower_ != "i" and any(token.lower_ in ("my", "our") for token in clause.subject.subtree)
    manner = any(child.dep_ == "advmod" and child.i > head.i and child.lower_.endswith("ly") for child in head.children)
    return (
        head.tag_ in ("VBP", "VBZ") and head.pos_ == "VERB" and head.lemma_.lower() not in _EMPTY and (is_own or manner)
    )


def _cannot_stand(head: "Token") -> bool:
    return head.lemma_ == "stand" and any(child.dep_ == "neg" for child in head.children)


def _is_over(clause: Clause) -> bool:
    """Return whether something is over: `the trip is off`, `the rash is gone`."""
    head = clause.head
    if head.lemma_ in _ENDING and head.tag_ in ("VBD", "VBN") and _is_bare(clause) and _is_of_speaker(clause.subject):
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
    return is_set and any(part.tag_ == "CD" or part.ent_type_ in _QUANTITIES for end in ends for part in end.subtree)


_SETTING = frozenset({"put", "raise", "increase", "lower", "reduce", "bump", "extend", "cut"})


def _is_habit(clause: Clause) -> bool:
    """Return whether a verb alone tells a habit: `I smoke`, `I don't drive`."""
    lemma = clause.head.lemma_.lower()
    changed = any(token.lower_ in _CHANGES for token in clause.tokens)
    is_present = (
        (clause.head.tag_ == "VBP" or (changed and clause.head.tag_ == "VBG"))
        and is_first(clause.subject)
        and lemma not in _LIKING
    )
    is_denied = any(child.dep_ == "neg" for child in clause.head.children)
    if is_denied and is_first(clause.subject) and clause.tokens[-1].lower_ in _NO_MORE:
        return True
    return lemma in _STRONG and (is_present or is_denied)


_ABILITIES = frozenset({"drink", "smoke", "vape", "gamble", "drive", "swim", "cook", "walk", "talk", "speak", "cycle"})


def _is_denied_alone(clause: Clause) -> bool:
    """Return whether the speaker or theirs never do something: `I don't drink`, `my son doesn't walk yet`."""
    head, subject = clause.head, clause.subject
    is_denied = any(child.dep_ == "neg" for child in head.children) and head.tag_ == "VB"
    is_past = any(helper.tag_ == "VBD" for helper in auxiliaries(head))
    is_known = is_first(subject) or _is_of_speaker(subject) or subject.lower_ in OTHERS
    return is_denied and not is_past and _is_bare(clause) and is_known


def _is_of_speaker(subject: "Token") -> bool:
    return any(is_first(child) and child.dep_ == "poss" for child in subject.children)


def _is_generic(token: "Token") -> bool:
    """Return whether a noun says nothing by itself: `some good advice`, `a few plans`, `their dream`."""
    detailed = any(child.dep_ in ("prep", "compound", "relcl", "acl", "appos", "nummod") for child in token.children)
    return token.lemma_.lower() in _GENERIC and not detailed


_GENERIC = english_words("generic_nouns")


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
    if _is_generic(objects[0]):
        return -1.0, f"{lemma} {objects[0].lemma_}"
    if lemma == "take" and objects[0].lemma_.lower() == "place":
        return 1.0, "take place"
    is_counted = any(child.like_num for child in objects[0].children)
    if lemma == "take" and objects[0].lemma_.lower() in _SPELLS and not is_counted:
        return -1.0, "takes time"
    if not is_counted and objects[0].lemma_.lower() in _VAGUE_OBJECTS | _EVALUATIONS:
        return -1.0, f"{lemma} {objects[0].lemma_}"
    return (2.0 if lemma in ("have", "get") else 1.0), lemma


def _intended(clause: Clause) -> "Token | None":
    """Return what somebody wants, likes or begins to do, or thought once: `want to learn`, `used to think`."""
    head = clause.head
    is_past_thought = head.lower_ == "used" and any(child.lemma_ in _EMPTY for child in head.children)
    if head.lemma_.lower() not in _INTENDING and not is_past_thought:
        return None
    inner = [child for child in head.children if child.dep_ in ("xcomp", "pcomp")]
    inner += [
        grand for child in head.children if child.dep_ == "prep" for grand in child.children if grand.dep_ == "pcomp"
    ]
    return next(iter(inner), None)


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
        token.dep_ not in ("advmod", "punct", "neg") or token.pos_ == "PROPN" or _is_misread(token) for token in after
    )


_TELLS_ALL = frozenset({"die", "propose", "retire", "graduate", "elope"})
"""Verbs that say all without an object, of a change that is over."""
_LEAVING = frozenset({"leave", "quit", "resign"})
"""Verbs that say it of somebody who is named: `Tom left`."""


def _is_misread(token: "Token") -> bool:
    """Return whether a thing was read as an adverb: `I want a tattoo`, `I uninstalled WoW`."""
    has_article = any(child.dep_ in ("det", "poss") for child in token.children)
    if token.dep_ == "xcomp" and token.tag_ == "VB":
        return not any(token.children)  # `I can't eat gluten`
    return token.dep_ == "advmod" and token.lower_ not in _CHANGES and (has_article or token.ent_type_ in _NAMES)


def _copula_score(clause: Clause) -> tuple[float, str]:
    complement = next((child for child in clause.head.children if child.dep_ in ("attr", "acomp", "oprd")), None)
    if complement is None:
        return _place_score(clause)
    lemma = complement.lemma_.lower()
    if lemma in _SCHEDULED and any(token.ent_type_ in ("DATE", "TIME") for token in clause.tokens):
        return 2.0, f"{lemma} then"
    if any(child.dep_ == "compound" and child.pos_ == "PROPN" for child in complement.children):
        return _IDENTITY, f"is {lemma}"  # `a Leeds fan`
    if lemma == "fan" and any(_is_of_a_thing(child) for child in complement.children):
        return _IDENTITY, "likes or not"
    if lemma == "dead" and is_first(clause.subject):
        return -2.0, "laughs"
    is_theirs = _is_of_speaker(clause.subject) or clause.subject.pos_ == "PRON" or clause.subject.text[0].isupper()
    is_still = any(child.lower_ == "still" for child in clause.head.children)
    if lemma in _PASSING and complement == clause.tokens[-1] and not (is_theirs or is_still):
        return -2.0, f"passes ({lemma})"
    is_too = any(child.lower_ == "too" for child in complement.lefts) and not _is_of_speaker(clause.subject)
    if is_too or lemma in _EVALUATIONS or complement.tag_ == "JJS" or lemma in _VAGUE_OBJECTS:
        return -2.0, f"judges ({lemma})"
    return _IDENTITY, f"is {lemma}"


def _place_score(clause: Clause) -> tuple[float, str]:
    if any(child.dep_ == "prep" and child.lower_ == "into" for child in clause.head.children):
        return _IDENTITY, "likes or not"
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


_SCHEDULED = word_set("ready available due open closed free valid")
"""What something is from or until a day."""
_PASSING = word_set("closed open shut empty full dirty wet loud quiet")
"""What a room or a shop is for the moment: `kitchen is closed`."""


def _is_leaving(token: "Token") -> bool:
    """Return whether it is the `off` of `I'm off to bed`."""
    return token.lower_ == "off" and token.i + 1 < len(token.doc) and token.nbor().lower_ == "to"


def _is_of_a_thing(preposition: "Token") -> bool:
    """Return whether a preposition names a thing: `of jazz`, not `of yours`."""
    return preposition.lower_ == "of" and any(child.pos_ in ("NOUN", "PROPN") for child in preposition.children)


_IDENTITY = 2.0
"""Score of what somebody or something is."""


def _subject_score(clause: Clause, context: SpeakerContext) -> tuple[float, str]:
    subject = clause.subject
    if is_first(subject) or any(child.dep_ == "conj" and is_first(child) for child in subject.children):
        return 1.0, "about the speaker"
    owned = is_own_kin(subject) or [part for part in subject.subtree if is_first(part) or part.dep_ == "poss"]
    if owned:
        is_close = subject.lemma_.lower() in KIN or _is_own(subject, BODY)
        return (1.0 if is_close else 0.5), "about somebody's own"
    if subject.dep_ == "csubj" or (subject.i == 0 and is_gerund(subject.lower_)) or subject.tag_ == "VBG":
        return -3.0, "an activity in general"
    if (
        subject.pos_ == "PROPN"
        or subject.ent_type_ in ("PERSON", "ORG", "GPE", "PRODUCT", "FAC")
        or subject.lower_ in OTHERS
        or any(child.dep_ == "nummod" and child.i > subject.i for child in subject.children)  # `release 2.4`
    ):
        return 1.0, "named"
    if (
        subject.text[:1].isupper()
        and context.is_note
        and clause.head.tag_ in ("VBZ", "VBD")
        and not any(subject.children)
    ):
        return 1.0, "named"
    if any(child.dep_ == "det" and child.lower_ in ("the", "this") for child in subject.children):
        named = any(part.dep_ in ("compound", "amod", "prep", "nummod") for part in subject.children)
        return (0.5 if named else 0.0) - (not context.is_note), "a thing"
    if context.is_note and not context.is_written and _tells_what_happened(clause):
        return 0.5, "a thing of theirs"
    return -2.0, "things in general"


def _tells_what_happened(clause: Clause) -> bool:
    """Return whether a note without an article says what became of something: `thinkpad finally died`."""
    head, helpers = clause.head, auxiliaries(clause.head)
    is_some = any(child.dep_ in ("det", "predet", "relcl") for child in clause.subject.children)
    is_state = head.lemma_ == "be" or any(helper.lemma_ == "be" and helper.tag_ != "VBD" for helper in helpers)
    is_past = head.tag_ in ("VBD", "VBN") or any(helper.tag_ == "VBD" for helper in helpers)
    return is_past and not (is_some or is_state or clause.is_shared) and clause.subject.pos_ == "NOUN"


def _detail_scores(clause: Clause, context: SpeakerContext) -> list[tuple[float, str]]:
    body = [token for token in clause.tokens if token.i >= clause.head.i]
    kinds = {token.ent_type_ for token in clause.tokens if token.ent_type_}
    modals = {token.lower_ for token in auxiliaries(clause.head)}
    hated = _cannot_stand(clause.head)
    details = (
        (1.0, "names", bool(kinds & _NAMES) or any(token.pos_ == "PROPN" for token in body)),
        (
            0.5,
            "begins or ends then",
            clause.head.lemma_.lower() in _BOUNDS and (bool(kinds & {"DATE", "TIME"}) or _counts(clause)),
        ),
        (
            0.5,
            "somebody's act for the speaker",
            context.is_note and clause.subject.pos_ == "PROPN" and any(token.lower_ in {"me", "us"} for token in body),
        ),
        (0.5, "a time or number", bool(kinds & _QUANTITIES) or any(token.like_num for token in body)),
        (0.5, "a person or animal of theirs", any(token.lemma_.lower() in KIN for token in body)),
        (1.0, "a thing named", any(_is_concrete(token) or _is_misread(token) for token in body)),
        (1.0, "a lasting trait", any(token.lower_ in _TRAITS for token in clause.tokens)),
        (
            1.0,
            "a change",
            context.is_note and any(token.lower_ in _CHANGES and token.dep_ != "det" for token in clause.tokens),
        ),
        (
            0.5,
            "what was done to a thing of the speaker's, or is regular",
            context.is_note and _is_of_speaker(clause.subject) and (is_passive(clause.head) or _is_regular(clause)),
        ),
        (4.0, "a decision of a meeting", context.is_group and _is_agreed(clause.head)),
        (-3.0, "what a letter is about", clause.head.lower_ == "writing" and not has_object(clause.head)),
        (-1.0, "an appeal", clause.subject.lower_ == "we" and "can" in modals),
        (-0.5, "only possible", not modals.isdisjoint(_POSSIBLE) and not kinds & {"DATE", "TIME"} and not hated),
        (-_OF_SEVERAL, "one of several acts", clause.is_shared and not kinds),
        (-1.0, "points at something", any(_points(token) for token in body)),
        (-0.5, "long", len(clause.tokens) > _LONG),
    )
    return [(score, why) for score, why, applies in details if applies]


def _is_agreed(head: "Token") -> bool:
    return head.lemma_ == "agree" and head.tag_ == "VBD" and any(child.dep_ == "xcomp" for child in head.children)


def _is_regular(clause: Clause) -> bool:
    """Return whether it says on which days something always happens: `our cleaner comes on tuesdays`."""
    return clause.head.tag_ == "VBZ" and any(
        token.lower_.endswith("days") or token.lower_ in ("every", "weekly", "monthly") for token in clause.tokens
    )


def _remark_scores(clause: Clause) -> list[tuple[float, str]]:
    """Score a remark among people, by weights of a logistic regression on remarks that were read and judged."""
    head = clause.head
    body = [token for token in clause.tokens if token.i > head.i]
    lemmas = [
        token.lemma_.lower() for token in body if token.dep_ not in ("prt", "npadvmod") and token.ent_type_ != "DATE"
    ]
    is_strong, is_past = head.lemma_.lower() in _STRONG, head.tag_ == "VBD"
    is_named = any(token.pos_ == "PROPN" or token.ent_type_ in _NAMES for token in body)
    is_identity = head.lemma_ == "be" and _copula_score(clause)[0] == _IDENTITY
    said = sum(token.pos_ in ("NOUN", "PROPN", "VERB", "ADJ", "NUM") for token in body)
    counts = (
        (-1.9, "a remark", 1),
        (1.0, "a noun with a noun before it", any(token.dep_ == "compound" for token in body)),
        (1.0, "a day", any(token.ent_type_ in ("DATE", "TIME") for token in clause.tokens)),
        (-0.8, "judges", min(3, sum(lemma in _EVALUATIONS for lemma in lemmas))),
        (-0.35, "vague", min(3, sum(lemma in _VAGUE_OBJECTS | _GENERIC for lemma in lemmas))),
        (0.55, "concrete", min(3, sum(_is_concrete(token) and not _is_abstract(token) for token in body))),
        (-0.8, "the thing spoken of before", not is_strong and any(map(_is_definite_alone, body))),
        (-0.65, "loose parts", any(_is_loose(token, clause) for token in clause.tokens)),
        (-0.75, "we", clause.subject.lower_ == "we"),
        (0.55, "the speaker", is_first(clause.subject)),
        (0.5, "an owner", any(child.dep_ == "poss" for child in clause.subject.children)),
        (0.45, "something owned", any(token.dep_ == "poss" for token in body)),
        (-0.5, "a pronoun", any(token.lower_ in ("it", "they", "them") for token in clause.tokens)),
        (-0.4, "a wish", head.lemma_ in _WANTING and not is_named),
        (0.75, "an aim with a name", is_named and _intended(clause) is not None),
        (0.5, "past", is_past),
        (0.75, "a change of life", is_strong and head.tag_ in ("VBD", "VBN")),
        (0.6, "a habit", is_strong and head.tag_ in ("VBP", "VBZ", "VB")),
        (0.45, "a place or partner", any(token.dep_ == "pobj" and token.head.head == head for token in body)),
        (0.45, "added", any(token.lower_ in ("too", "also", "another", "even") for token in clause.tokens)),
        (-0.6, "few words", said < 2 and not (is_strong or is_named or is_identity)),
        (1.0, "an identity", is_identity),
    )
    return [(weight * count, why) for weight, why, count in counts]


def _is_lasting_remark(clause: Clause) -> bool:
    """Return whether a remark tells what stays: a name, a diet, what was given up, who lives with them, a pet."""
    head, subject = clause.head, clause.subject
    lemma, is_own = head.lemma_.lower(), _is_of_speaker(subject)
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


def _is_plain(clause: Clause, context: SpeakerContext, remarks: Iterable[tuple[float, str]]) -> bool:
    """Return whether a clause about the speaker or theirs says what, where or when by a name, number or concrete noun.

    Who tells that tells it as they would alone, whoever else is there. No weight of a remark may speak against it.
    """
    head, subject = clause.head, clause.subject
    owners = subject.doc[subject.left_edge.i : subject.i + 1]
    is_child = PARENTS.isdisjoint(context.speaker_name.lower().split())
    is_own = (is_own_kin(subject) and is_child) or any(is_first(token) for token in owners)
    is_name = subject.pos_ == "PROPN" and subject.ent_type_ in ("PERSON", "")
    is_own = is_own or subject.lower_ in OTHERS or is_name
    is_strong = head.lemma_.lower() in _STRONG or _is_phrase(head)
    is_dated = any(token.ent_type_ in ("DATE", "TIME") for token in clause.tokens)
    is_act = head.lemma_ != "be" and not is_passive(head)
    # What several did is told of one of them where it changes a life or has its day.
    harmless = _OF_EVERY_REMARK | ({"we"} if is_strong or (is_dated and is_act) else set())
    if not is_own or any(score < 0 and why not in harmless for score, why in remarks):
        return False
    is_possible = any(child.tag_ == "MD" and child.lower_ in _POSSIBLE for child in auxiliaries(head))
    is_denied = any(child.dep_ == "neg" for child in head.children)
    if (is_possible and not is_denied) or any(token.lower_ in _EMPHATIC for token in clause.tokens):
        return False
    if head.tag_ in ("VBD", "VBN") and not (is_first(subject) or auxiliaries(head) or _counts(clause)):
        return is_strong  # `my flatmate ate my leftovers` passes
    if any(token.lower_ in _TRAITS for token in clause.tokens):
        return True
    said = [child for child in head.children if child.dep_ in ("dobj", "attr", "acomp") or child.ent_type_ in _NAMES]
    said += [grand for child in head.children if child.dep_ == "prep" for grand in child.children]
    if (act := _intended(clause)) is not None:  # `I went swimming on Friday`, `I love baking bread`
        said += [act] if is_dated and act.tag_ == "VBG" else [child for child in act.children if child.dep_ == "dobj"]
    return any(map(_is_definite_thing, said))


def _counts(clause: Clause) -> bool:
    return any(token.like_num for token in clause.tokens)


def _is_definite_thing(token: "Token") -> bool:
    """Return whether a word names or counts something, or is a concrete noun that is not just one of some."""
    is_named = token.pos_ == "PROPN" or token.ent_type_ in _NAMES or token.like_num or token.lower_ in _TRAITS
    if is_named or token.dep_ == "xcomp":
        return True
    is_some = any(child.lower_ in _EMPHATIC for child in token.subtree)
    if token.dep_ == "dobj" and token.pos_ == "ADJ":
        return not is_some  # a noun that the parser does not know: `cilantro`
    return not is_some and _is_concrete(token) and not _is_abstract(token) and not _is_generic(token)


_EMPHATIC = frozenset({"really", "so", "such", "some", "few", "much", "more", "too"})
_OF_EVERY_REMARK = frozenset({"a remark", "few words"})
_MIN_PLAIN = 3.0
"""Score from which a remark may be a plain fact."""
_OF_SEVERAL = 0.5
"""What one of several acts is worth less: `and made tea`. A plain fact stays one in a list."""
_MIN_BEFORE_REMARKS = 2.5
"""Score below which a remark is not looked at again."""
_LOOSE = frozenset({"dep", "intj", "parataxis", "csubj", "appos"})


def _is_loose(token: "Token", clause: Clause) -> bool:
    """Return whether a word stands beside the clause; what names its subject does not: `my sister Clara`."""
    is_name = token.dep_ == "appos" and (token.pos_ == "PROPN" or token.head == clause.subject)
    return token.dep_ in _LOOSE and not is_name


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


def _is_concrete(token: "Token") -> bool:
    lemma = token.lemma_.lower()
    return (
        token.pos_ == "NOUN" and lemma not in _VAGUE_OBJECTS and lemma not in _EVALUATIONS and token.ent_type_ != "DATE"
    )


def _points(token: "Token") -> bool:
    return token.dep_ == "det" and token.lower_ in ("this", "that", "these", "those") and not token.head.ent_type_

"""Worth of a clause as a memory: a score with its reasons."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import OTHERS, Clause, auxiliaries, has_object, is_first, is_passive
from pipeline.memory.grammar.speaker_context import SpeakerContext
from pipeline.memory.grammar.worth.predicate_score import predicate_score
from pipeline.memory.grammar.worth.remark_score import is_lasting_remark, is_plain, remark_scores
from pipeline.memory.grammar.worth.stated_records import is_of_things_in_general, is_record
from pipeline.memory.grammar.worth.telling_words import (
    CHANGES,
    NAMES,
    POSSIBLE,
    QUANTITIES,
    TRAITS,
    cannot_stand,
    has_number,
    is_concrete,
    is_misread,
    is_of_speaker,
    is_own_kin,
    is_own_of,
    points_at_something,
)
from pipeline.memory.languages.short_messages import SURELY_MEMORABLE
from pipeline.text.english_nouns import BODY, KIN
from pipeline.text.english_verbs import is_gerund, word_set

if TYPE_CHECKING:
    from spacy.tokens import Token

DEFAULT_MIN_WORTH = 3.5
"""Score from which a clause becomes a memory."""
_BOUNDS = word_set("begin start end finish open close run expire lapse renew last")
_LONG = 25
"""Words from which a clause is long."""
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


def worth(clause: Clause, context: SpeakerContext) -> Worth:
    """Score a clause; a note to the service itself is meant to be kept rather than a remark among people."""
    found: list[tuple[float, str]] = [predicate_score(clause), _subject_score(clause, context)]
    found += _detail_scores(clause, context)
    if context.meaning >= SURELY_MEMORABLE:
        found.append((_MEMORABLE, "means what people keep"))
    if context.is_note:
        found.append((1.0, "a note"))
        is_meant = context.is_written or not (context.is_chat or is_of_things_in_general(clause))
        if is_meant and is_record(clause):
            found.append((max(0.0, DEFAULT_MIN_WORTH - sum(score for score, _ in found)), "a record"))
    elif context.is_speech and is_lasting_remark(clause):
        found.append((2.0, "lasts"))
    elif context.is_speech and (stated := sum(score for score, _ in found)) >= _MIN_BEFORE_REMARKS:
        remarks = remark_scores(clause)
        alone = stated + _OF_SEVERAL * ((-_OF_SEVERAL, "one of several acts") in found)
        found += [(1.0, "a plain fact")] if alone >= _MIN_PLAIN and is_plain(clause, context, remarks) else remarks
    return Worth(sum(score for score, _ in found), tuple(f"{why} {score:+g}" for score, why in found if score))


def _subject_score(clause: Clause, context: SpeakerContext) -> tuple[float, str]:
    subject = clause.subject
    if is_first(subject) or any(child.dep_ == "conj" and is_first(child) for child in subject.children):
        return 1.0, "about the speaker"
    owned = is_own_kin(subject) or [part for part in subject.subtree if is_first(part) or part.dep_ == "poss"]
    if owned:
        is_close = subject.lemma_.lower() in KIN or is_own_of(subject, BODY)
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
    hated = cannot_stand(clause.head)
    details = (
        (1.0, "names", bool(kinds & NAMES) or any(token.pos_ == "PROPN" for token in body)),
        (
            0.5,
            "begins or ends then",
            clause.head.lemma_.lower() in _BOUNDS and (bool(kinds & {"DATE", "TIME"}) or has_number(clause)),
        ),
        (
            0.5,
            "somebody's act for the speaker",
            context.is_note and clause.subject.pos_ == "PROPN" and any(token.lower_ in {"me", "us"} for token in body),
        ),
        (0.5, "a time or number", bool(kinds & QUANTITIES) or any(token.like_num for token in body)),
        (0.5, "a person or animal of theirs", any(token.lemma_.lower() in KIN for token in body)),
        (1.0, "a thing named", any(is_concrete(token) or is_misread(token) for token in body)),
        (1.0, "a lasting trait", any(token.lower_ in TRAITS for token in clause.tokens)),
        (
            1.0,
            "a change",
            context.is_note and any(token.lower_ in CHANGES and token.dep_ != "det" for token in clause.tokens),
        ),
        (
            0.5,
            "what was done to a thing of the speaker's, or is regular",
            context.is_note and is_of_speaker(clause.subject) and (is_passive(clause.head) or _is_regular(clause)),
        ),
        (4.0, "a decision of a meeting", context.is_group and _is_agreed(clause.head)),
        (-3.0, "what a letter is about", clause.head.lower_ == "writing" and not has_object(clause.head)),
        (-1.0, "an appeal", clause.subject.lower_ == "we" and "can" in modals),
        (-0.5, "only possible", not modals.isdisjoint(POSSIBLE) and not kinds & {"DATE", "TIME"} and not hated),
        (-_OF_SEVERAL, "one of several acts", clause.is_shared and not kinds),
        (-1.0, "points at something", any(points_at_something(token) for token in body)),
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


_MIN_PLAIN = 3.0
"""Score from which a remark may be a plain fact."""
_OF_SEVERAL = 0.5
"""What one of several acts is worth less: `and made tea`. A plain fact stays one in a list."""
_MIN_BEFORE_REMARKS = 2.5
"""Score below which a remark is not looked at again."""

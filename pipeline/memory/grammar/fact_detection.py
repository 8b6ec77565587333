"""Facts of sentences: their clauses, in the third person, with days, as far as they are worth keeping."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

from pipeline.memory.grammar.clauses import OTHERS, Clause, find_clauses, is_first, reasons, without_addition
from pipeline.memory.grammar.english_parser import parsed, spelling_corrector
from pipeline.memory.grammar.instructions import split_instruction
from pipeline.memory.grammar.message_text import normalize_message, with_user_named
from pipeline.memory.grammar.opening_names import restore_name
from pipeline.memory.grammar.own_fields import own_field, titled_field
from pipeline.memory.grammar.permanence import is_static
from pipeline.memory.grammar.persons_spoken_of import (
    Discourse,
    is_known_person,
    is_person,
    may_mean_person,
    means_somebody_before,
    named_outside,
    only_relative,
    phrase_of_person,
    pronouns_of_others,
    remember_person,
)
from pipeline.memory.grammar.place_anaphora import resolve_there
from pipeline.memory.grammar.refusals import dangling, refusal, without_address, without_doubt
from pipeline.memory.grammar.speaker_context import SpeakerContext
from pipeline.memory.grammar.third_person import Referents, render_clause
from pipeline.memory.grammar.worth.clause_worth import DEFAULT_MIN_WORTH, Worth, worth
from pipeline.memory.grammar.worth.stated_records import is_misread_record, is_record_without_verb
from pipeline.memory.languages.english import english_pattern
from pipeline.memory.languages.english_rewrites import NUMBER
from pipeline.memory.languages.english_subjects import OF_ANYBODY
from pipeline.memory.languages.language_detection import detect_language
from pipeline.memory.languages.personal_facts import (
    begins_with_name,
    is_instruction,
    is_permanent,
    states_personal_fact,
)
from pipeline.memory.languages.profiles import QUESTION_MARK, LanguageProfile
from pipeline.memory.languages.requests import stated_beside
from pipeline.memory.languages.short_messages import MEMORABLE, MEMORABLE_WITHOUT_VERB, SURELY_MEMORABLE
from pipeline.text.english_nouns import KIN, PETS
from pipeline.text.statement_words import named_relatives
from pipeline.text.succession import tells_of_change, tells_of_plan
from pipeline.text.temporal_expressions import DateRange, day_name, resolve_dates

if TYPE_CHECKING:
    from spacy.tokens import Doc

_SUPPOSES = re.compile(
    r"(?:and |but |so )?(?:if|suppose|imagine) (?=.* (?:who|what|how|which|where|when|should|can|could|would) )",
    re.IGNORECASE,
)
"""A supposition before a question: `if I earn 30k and my wife 40k who pays more`."""
_FIELDS = re.compile(r"(?:^|\s)[A-Z]\w+: ")
"""Fields of a form, of which several make no sentence."""
_IRONY = re.compile(english_pattern("ironies"), re.IGNORECASE)
"""What is said in irony, or was dreamt: openings, rolling eyes, `/s`. Better no memory than the opposite of one."""
_IDENTITY = re.compile(
    r"(?:my|our) (?P<what>(?:[\w'-]+ ){0,2}(?:favou?rite [\w -]{2,30}?|name|nickname|surname|hobby|job title|"
    r"pronouns)) (?P<verb>is|are) (?P<value>(?:now |still )?[^,;:.!?()]{2,60}?)(?= (?:because|but|so|since|and (?:I|my|"
    r"the)) |[.!]*$)",
    re.IGNORECASE,
)
"""What somebody calls their own, whatever the parser takes the value for: `my favourite food is grilled sardines`."""
_NO_SENTENCE = re.compile(
    r" = |^[\w ./-]{2,25}: ?[\W\d_]*$|^[^\W\d_a-z]\w{2,20}: (?:[^,:]{2,40}, ){2}|^[A-Z][a-z ]{2,20}: "
    r"(?:[A-Z][\w.-]*(?: \([\w ]+\))?[, ]*)+$|^(?:[A-Z][\w.-]*,? )+[A-Z][\w-]*, [A-Z][\w-]*$"
)
"""Fields and lists of names in any language."""
_AGE_OF_CHILD = re.compile(
    rf"(?P<who>\b(?:{'|'.join(sorted(KIN | PETS))})(?: [A-Z][\w'-]+)?|^[A-Z][\w'-]+) is (?:only |just |now |already )?"
    rf"(?P<age>(?:\d+|{NUMBER})(?: and a half)? (?:day|week|month)s?)(?: old)?(?=$|[,.;]| and | but )"
)
"""An age that is no more so after a while."""
_SAME_DAY = re.compile(r"\b(?:on )?(?:the|that) (?:very )?same day\b")
_END = " ,;\u2013-\u2014.!\u2026\"\u201d'\u3002\uff01"
_WORTH_OF_ANSWERS = 1.0
"""What being asked for adds to the score of a statement."""
_WORTH_OF_MINUTES = 0.5
"""What standing in minutes or in a short document adds to it: both are written down to be kept."""
_ASKED = Worth(DEFAULT_MIN_WORTH, ("said as such",))


@dataclass(frozen=True, slots=True)
class DetectedFact:
    """Statement with the dates it mentions; `is_static`: identity as opposed to events.

    `is_explicit`: a field of the user, or what they ask of every answer.
    """

    text: str
    is_static: bool
    date_ranges: tuple[DateRange, ...] = ()
    worth: Worth = field(default=_ASKED)
    is_explicit: bool = False


@dataclass(frozen=True, slots=True)
class SaidSentence:
    """A sentence with its speaker, in a discourse; `is_answer`: an assistant asked for it; `title`: of its document.

    `as_written`: what is kept where no rule reads it, such as an item of a list; `is_sentence`: rules may read it.
    """

    text: str
    context: SpeakerContext
    discourse: Discourse
    is_answer: bool = False
    title: str = ""
    as_written: str = ""
    is_sentence: bool = True


def detect_facts(sentences: Sequence[SaidSentence], min_worth: float = DEFAULT_MIN_WORTH) -> list[list[DetectedFact]]:
    """Return the facts of each sentence; none for questions, doubts, greetings and what names no subject.

    >>> said = SaidSentence("I live in Rome.", SpeakerContext(), Discourse())
    >>> [[fact.text for fact in facts] for facts in detect_facts([said])]
    [['User lives in Rome']]
    """
    requested = [_stated_as_such(said, _prepare(said)) for said in sentences]
    prepared = [text for text, _ in requested]
    stated = [fact for _, fact in requested]
    said_in = [(said, *_with_language(said, text)) for said, text in zip(sentences, prepared, strict=True)]
    english = [text if language is None and _is_parsable(text) else "" for _, text, language in said_in]
    if not any(english):
        found = [_unparsed_facts(said, text, language) for said, text, language in said_in]
    else:
        with parsed(english) as read:
            found = [
                _sentence_facts(said, text, docs, min_worth) if docs[0].text else _unparsed_facts(said, text, language)
                for (said, text, language), docs in zip(said_in, read, strict=True)
            ]
    return [
        [*facts, replace(fact, is_explicit=True)] if fact is not None else facts or _as_written(said)
        for said, facts, fact in zip(sentences, found, stated, strict=True)
    ]


def _as_written(said: SaidSentence) -> list[DetectedFact]:
    """Return what is kept of a sentence that no rule reads."""
    if not said.as_written:
        return []
    said_by = "" if said.context.is_group else f"{said.context.speaker_name}: "
    written = DetectedFact(f"{said_by}{said.as_written.strip(_END)}", is_static=False, is_explicit=True)
    if said.discourse.language is not None:
        return [written]
    dates = resolve_dates(written.text, said.context.reference_date_for(is_first_person=True))
    return [replace(written, text=dates.text, date_ranges=dates.date_ranges)]


def _stated_as_such(said: SaidSentence, text: str) -> tuple[str, DetectedFact | None]:
    """Return a field of the user, or what the user asks of every answer, and the sentence without it."""
    context = said.context
    if (stated := titled_field(said.text, said.title)) is not None:
        return "", DetectedFact(stated, is_static=True)
    if not context.is_speech or context.is_chat > (context.speaker is None):
        return text, None
    if (stated := own_field(said.text, said.context.speaker_name)) is not None:
        dates = resolve_dates(stated, said.context.reference_date_for(is_first_person=True))
        return "", DetectedFact(dates.text, is_static(dates.text), dates.date_ranges)
    if not said.is_sentence:
        return "", None
    if context.speaker is None and is_instruction(said.text) and not QUESTION_MARK.search(said.text):
        return "", DetectedFact(f"{context.speaker_name}: {said.text.strip(_END)}", is_static=True)
    rest, asked = split_instruction(text) if context.speaker is None else (text, None)
    return rest, None if asked is None else DetectedFact(asked, is_static=True)


def _with_language(said: SaidSentence, text: str) -> tuple[str, LanguageProfile | None]:
    """Return a sentence and its language, None for English; in doubt it goes on in that of the one before."""
    found = detect_language(text, said.discourse.language)
    if found is None or text.count(" ") > 1:
        said.discourse.language = found
    return text, found


def _unparsed_facts(said: SaidSentence, text: str, language: LanguageProfile | None) -> list[DetectedFact]:
    said.discourse.begin_turn(said.context.speaker)
    said.discourse.person = said.discourse.person if language is None else None  # nothing is left of `Aww!`
    if not said.is_sentence:
        return []
    if language is None and said.context.meaning >= MEMORABLE and spelling_corrector().is_foreign(said.text):
        return [_in_own_words(said)]  # in a language or dialect that nobody told
    return _foreign_facts(said, text, language)


def _sentence_facts(said: SaidSentence, text: str, docs: "Sequence[Doc]", min_worth: float) -> list[DetectedFact]:
    said.discourse.begin_turn(said.context.speaker)
    if len(_FIELDS.findall(said.text)) > 1 or (said.context.is_speech and _IRONY.search(said.text)):
        said.discourse.person = None
        return []
    if said.discourse.person is not None and OF_ANYBODY.match(said.text) and text[:3].lower() == "my ":
        return []
    is_question = said.text.rstrip().endswith("?") or _SUPPOSES.match(said.text) is not None
    least = min_worth - _WORTH_OF_ANSWERS * said.is_answer - _WORTH_OF_MINUTES * said.context.is_group
    *before, last = docs
    facts = [fact for doc in before for fact in _facts_of(doc, said.context, said.discourse, least, is_question=False)]
    facts += _facts_of(last, said.context, said.discourse, least, is_question=is_question)
    doc = docs[0]
    if not facts and not is_question and said.context.is_speech and (own := _IDENTITY.match(text)) is not None:
        facts = [_identity(own, said.context)]
    if not (facts or is_question or _TO_OTHERS.search(said.text)):
        if said.context.meaning >= SURELY_MEMORABLE and _names_subject(doc):
            return [_record(said)]  # its clause was read as none, or as less than it says
        if said.context.meaning >= MEMORABLE_WITHOUT_VERB and not (said.title or find_clauses(doc) or _is_order(doc)):
            return [_record(said) if said.context.is_group else _in_own_words(said)]
        if said.context.meaning >= SURELY_MEMORABLE and _tells_news(said.text):
            return [_in_own_words(said)]
    # A heading has no full stop.
    if not facts and said.context.is_written and said.text.endswith(".") and not find_clauses(doc):
        is_list = _NO_SENTENCE.search(said.text) is not None
        return [_record(said)] if is_misread_record(doc) or (is_record_without_verb(doc) and not is_list) else []
    return facts


def _names_subject(doc: "Doc") -> bool:
    """Return whether a sentence begins with what it is about, a name or a thing, and speaks of neither you nor me."""
    first = next((token for token in doc if not token.is_punct), None)
    names_thing = first is not None and len(doc) >= _MIN_RECORD_WORDS and first.pos_ in _NOMINAL
    return names_thing and not any(token.pos_ == "PRON" and token.lower_ in _IN_TALK for token in doc)


def _is_order(doc: "Doc") -> bool:
    """Return whether a text orders, asks or supposes something: `write a poem`, not `squat up to 120`."""
    first = doc[0]
    is_asked = first.tag_.startswith("W") or first.lower_ in _SUPPOSING or any(token.lower_ == "or" for token in doc)
    return is_asked or (first.tag_ == "VB" and any(child.dep_ in ("dobj", "dative") for child in first.children))


_SUPPOSING = frozenset({"if", "unless", "whether", "imagine", "suppose", "do", "does", "did", "dont"})


_MIN_RECORD_WORDS = 4
_NOMINAL = frozenset({"PROPN", "NOUN", "DET", "ADJ", "NUM"})
_TO_OTHERS = re.compile(r"\b(?:you|your|yours|u|ur|please|pls)\b", re.IGNORECASE)
_IN_TALK = frozenset({"i", "me", "my", "mine", "we", "us", "our", "you", "your", "this", "that"})
_INVERTED = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|can|should) (?:a|an|the|my|i|someone|people)\b|"
    r"(?:what|how|where|who|why)['\u2019]?s\b",
    re.IGNORECASE,
)
"""Begin of a question without its mark."""


def _tells_news(text: str) -> bool:
    """Return whether a message says in earnest that something has changed, and asks nobody for anything."""
    is_question = _INVERTED.match(text) is not None
    return tells_of_change(text) and not (tells_of_plan(text) or is_question)


def _in_own_words(said: SaidSentence) -> DetectedFact:
    """Return a sentence as its speaker's, as it stands."""
    dates = resolve_dates(said.text.rstrip(_END), said.context.reference_date_for(is_first_person=True))
    return DetectedFact(f"{said.context.speaker_name}: {dates.text}", is_static(dates.text), dates.date_ranges)


def _record(said: SaidSentence) -> DetectedFact:
    """Return a sentence of a document as it stands."""
    text = with_user_named(said.text) if said.context.is_note else said.text
    dates = resolve_dates(text.rstrip(_END), said.context.reference_date_for(is_first_person=False))
    return DetectedFact(dates.text, is_static(dates.text), dates.date_ranges)


def _identity(own: re.Match[str], context: SpeakerContext) -> DetectedFact:
    stated = f"{context.speaker_name}'s {own['what']} {own['verb'].lower()} {own['value']}"
    return DetectedFact(stated, is_static=is_static(stated))


def _prepare(said: SaidSentence) -> str:
    text, said.discourse.place = resolve_there(said.text, said.discourse.place)
    plain = normalize_message(text, said.context, is_speech=said.context.is_speech)
    # As it was said, a message has small words of chats that look like another language's.
    is_foreign = all(detect_language(form, said.discourse.language) is not None for form in (said.text, plain))
    return normalize_message(text, said.context, is_speech=False) if is_foreign else plain


def _is_parsable(text: str) -> bool:
    is_sentence = bool(text) and " " in text and not text.endswith(":") and "://" not in text
    return is_sentence and not spelling_corrector().is_foreign(text)


def _foreign_facts(said: SaidSentence, text: str, profile: LanguageProfile | None) -> list[DetectedFact]:
    # The mark of a question is gone from a message that is made ready for the parser.
    if profile is None or _NO_SENTENCE.search(text) or not said.context.is_speech:
        return []
    if stated_beside(text, profile) == []:
        return []  # it is an order
    if QUESTION_MARK.search(said.text):
        text = profile.before_question(text)
    elif said.context.is_chat and said.context.speaker is None:
        text = profile.without_question(text)
    clauses = list(profile.without_stops(text))
    is_memorable = said.context.meaning >= MEMORABLE and len(clauses) == 1
    return [fact for clause in clauses for fact in _foreign_fact(said, clause, profile, is_memorable=is_memorable)]


def _foreign_fact(said: SaidSentence, text: str, profile: LanguageProfile, *, is_memorable: bool) -> list[DetectedFact]:
    stated = profile.without_doubt(profile.without_opening(text).rstrip(_END))
    while not (is_introduction := profile.is_introduction(stated)) and not _is_foreign_fact(
        said, stated, profile, is_memorable=is_memorable
    ):
        if not (stated := profile.after_comma(stated)):
            return []
    said_by = "" if said.context.is_group else f"{said.context.speaker_name}: "
    parts = profile.statements(stated)
    facts = [
        DetectedFact(f"{said_by}{part}", is_introduction or is_permanent(part, profile))
        for part in parts
        if len(parts) == 1 or profile.hedges.search(part) is None
    ]
    # A name lasts, whatever passes that is told with it.
    named = [] if any(fact.is_static for fact in facts) else named_relatives(stated)
    return [*facts, *(DetectedFact(f"{said_by}{phrase}", is_static=True) for phrase in named)]


def _is_foreign_fact(said: SaidSentence, stated: str, profile: LanguageProfile, *, is_memorable: bool) -> bool:
    return states_personal_fact(
        stated,
        profile,
        is_note=said.context.is_note,
        is_minutes=said.context.is_group,
        is_message=said.context.is_note and not said.context.is_chat,
        is_named=_begins_with_name(stated, said, profile),
        is_memorable=is_memorable,
    )


def _begins_with_name(text: str, said: SaidSentence, profile: LanguageProfile) -> bool:
    """Return whether a sentence begins with a name, and not with that of one of those who talk."""
    is_addressed = text.partition(" ")[0].strip(",!") in said.context.participants
    begins_small = said.discourse.begins_small and not said.context.is_note
    is_capital = begins_small and text[:1].isupper() and text[1:2].islower()
    return not is_addressed and (is_capital or begins_with_name(text, profile))


def _facts_of(
    doc: "Doc", context: SpeakerContext, discourse: Discourse, min_worth: float, *, is_question: bool
) -> list[DetectedFact]:
    """Return the facts of a parsed sentence; of a question what is said before it asks."""
    facts: list[DetectedFact] = []
    clauses, earlier = find_clauses(doc), discourse.person
    if is_question:
        asking = max((clause.tokens[-1].i for clause in clauses if clause.tokens), default=0)
        clauses = [clause for clause in clauses if clause.tokens and clause.tokens[-1].i < asking]
    for whole in clauses:
        before, is_resolved = discourse.person, means_somebody_before(whole)
        if is_resolved and whole.subject.lower_ in OTHERS and (noun := named_outside(whole, clauses)) is not None:
            is_new = whole.head.lower_ in ("called", "named")
            discourse.person = (
                phrase_of_person(noun, context)
                if is_known_person(noun, context)
                else None
                if is_new
                else discourse.person
            )
        person = discourse.person if is_resolved and may_mean_person(whole, discourse) else None
        clause = without_address(without_doubt(_without_dangling(whole, has_antecedent=person is not None)))
        for part in (clause, *reasons(clause)):  # a reason stays with what it explains, where that is kept
            is_sound = refusal(part, context, has_antecedent=person is not None) is None
            if is_sound and (value := worth(part, context)).score >= min_worth:
                referents = Referents(context.name_within, person, context.group, context.addressee, context.is_speech)
                facts.append(_to_fact(part, context, referents, value, discourse.day))
                break
        remember_person(clause, context, discourse, is_resolved=is_resolved)
        if discourse.person != before:
            discourse.pronouns = frozenset()
        elif person is not None:
            discourse.pronouns |= pronouns_of_others(clause)
    if not clauses or is_question:
        discourse.person, before = only_relative(doc, context, discourse.person), discourse.person
        discourse.pronouns = discourse.pronouns if discourse.person == before else frozenset()
    if discourse.person not in (None, earlier) or any(token.lower_ in OTHERS or is_person(token) for token in doc):
        discourse.silent_turns = 0
    _remember_day(facts, doc, discourse)
    return facts


def _remember_day(facts: Sequence[DetectedFact], doc: "Doc", discourse: Discourse) -> None:
    """Keep the only day that a sentence names; forget the earlier one if it names a time that no fact has."""
    ranges = {dated for fact in facts for dated in fact.date_ranges}
    if len(ranges) == 1:
        named = ranges.pop()
        discourse.day = named.first if named.first == named.last else None
    elif ranges or (not facts and any(token.ent_type_ == "DATE" for token in doc)):
        discourse.day = None


def _without_dangling(clause: Clause, *, has_antecedent: bool) -> Clause:
    """Leave off what a clause adds of something unnamed: `I'm single and loving it`."""
    unnamed = dangling(clause, has_antecedent=has_antecedent)
    shorter = None if unnamed is None else without_addition(clause, unnamed)
    return clause if shorter is None else shorter


def _to_fact(
    clause: Clause, context: SpeakerContext, referents: Referents, value: Worth, previous_day: date | None
) -> DetectedFact:
    is_own = any(is_first(token) for token in (clause.subject, *clause.tokens))
    rendered = restore_name(render_clause(clause, referents), clause.head.doc)
    if previous_day is not None:
        rendered = _SAME_DAY.sub(f"on {day_name(previous_day)}", rendered)
    said_on = context.reference_date_for(is_first_person=is_own)
    if said_on is not None:
        rendered = _AGE_OF_CHILD.sub(rf"\g<who> was \g<age> old on {day_name(said_on)}", rendered)
    dates = resolve_dates(rendered, said_on)
    return DetectedFact(dates.text, is_static(dates.text), dates.date_ranges, value)

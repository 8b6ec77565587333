"""Rule-based extraction of the facts a text states, in order, each once. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import chain, islice

from pipeline.memory.attributes.attribute import Attribute
from pipeline.memory.attributes.attribute_extraction import comparable_attributes
from pipeline.memory.formation.answers import answered, with_question
from pipeline.memory.formation.document_voice import (
    Passage,
    find_passages,
    is_about_user,
    is_planted,
    may_be_users,
    team_of,
    without_title,
)
from pipeline.memory.formation.introductions import (
    assigned,
    is_request,
    separate_statements,
    with_asides,
    without_stops,
)
from pipeline.memory.grammar.english_parser import spelling_corrector
from pipeline.memory.grammar.fact_detection import SaidSentence, detect_facts
from pipeline.memory.grammar.instructions import to_be_remembered
from pipeline.memory.grammar.own_fields import mark_as_own, own_lines
from pipeline.memory.grammar.persons_spoken_of import Discourse
from pipeline.memory.grammar.sentence_splitter import join_continued, plain_text, split_sentences
from pipeline.memory.grammar.speaker_context import SpeakerContext
from pipeline.memory.grammar.worth.clause_worth import DEFAULT_MIN_WORTH
from pipeline.memory.languages.english_rewrites import NUMBER
from pipeline.memory.languages.language_detection import detect_language
from pipeline.memory.languages.listed_items import listed_items
from pipeline.memory.languages.personal_facts import continues
from pipeline.memory.languages.profiles import LanguageProfile
from pipeline.memory.languages.requests import asks_something, continues_request, stated_beside
from pipeline.memory.languages.short_messages import OF_THE_MOMENT, UNKNOWN, Meanings
from pipeline.text.calendar_day import titled_day
from pipeline.text.english_verbs import BASES, is_finite
from pipeline.text.statement_words import only_relative
from pipeline.text.utterance import TEAM
from schemas.events import Relation

_NAMES_SOMETHING = re.compile(r"(?=[A-Z]).{2,200}? (?:[A-Z][a-z]|\d)|[A-Z][\w'-]+ [a-z]")
"""Sentences of a page that may name what they are about."""
SENTENCES_PER_BATCH = 16
"""Sentences parsed together: a third faster than one by one, within 30 ms."""
LANGUAGE_CHARS = 1000
"""Characters of a document or a turn by which its language is told, which a short sentence may not show."""
MAX_SENTENCES_PER_DOCUMENT = 5000
MAX_FACTS_PER_DOCUMENT = 1000
"""Facts kept of one document; longer texts are found by their chunks."""


@dataclass(frozen=True, slots=True)
class CandidateFact:
    """A fact before it is related to others; `start` and `end` span its sentence.

    `dates`: when it happens, as ISO 8601 days, months, years or intervals `first/last`. `relations`: those
    known before the comparison. `extracted_by`: `rules`, or the name of the language model. `in_profile`: it is
    said in speech that may be the user's. `said_by`: its speaker, if the text names one.
    """

    text: str
    is_static: bool
    start: int | None
    end: int | None
    attributes: tuple[Attribute, ...]
    dates: tuple[str, ...] = ()
    is_inference: bool = False
    relations: tuple[Relation, ...] = ()
    extracted_by: str = "rules"
    worth: float | None = None
    in_profile: bool = True
    said_by: str | None = None


def extract_facts(
    text: str, reference_date: date | None = None, *, is_date_assumed: bool = False, document_type: str = "text"
) -> list[CandidateFact]:
    r"""Return the facts of a document.

    `reference_date`: the day it was written; without it "yesterday" is left as it is. `is_date_assumed`:
    the day is only that of its arrival, so it applies to chats and first-person statements, not to texts of
    unknown age.

    >>> [fact.text for fact in extract_facts("Ann: I live in Rome. You too?\nBob: I like Rome.")]
    ['Ann lives in Rome', 'Bob likes Rome']
    """
    return list(iter_facts(text, reference_date, is_date_assumed=is_date_assumed, document_type=document_type))


def iter_facts(
    text: str,
    reference_date: date | None = None,
    *,
    is_date_assumed: bool = False,
    document_type: str = "text",
    is_synced: bool = False,
    min_worth: float = DEFAULT_MIN_WORTH,
    meanings: Meanings = UNKNOWN,
) -> Iterator[CandidateFact]:
    """Return the facts of a document lazily.

    A value that was stated, changed and stated again comes twice. `document_type`: files and pages hold
    no speech. `is_synced`: a connector brought it. What a text of others says of "the user" is left out.
    `min_worth`: score from which a clause is worth keeping. `meanings`: of the texts that
    `texts_with_meaning` names.
    """
    title = text.lstrip().partition("\n")[0]
    passages = list(find_passages(text, document_type, is_synced=is_synced))
    names = frozenset(passage.utterance.speaker for passage in passages if passage.utterance.speaker is not None)
    # Where one person speaks to an assistant or two to each other, `she` is who was spoken of in the turn before.
    is_shared = not names or (len(names) == 2 and all(passage.utterance.is_chat for passage in passages))
    language = _language_of(" ".join(passage.utterance.text for passage in passages))
    begins_small = _begin_small(passages)
    shared = Discourse(language=language, begins_small=begins_small) if is_shared else None
    sentences = chain.from_iterable(
        _sentences(
            passage,
            _speaker_context(
                passage,
                names,
                reference_date,
                is_date_assumed=is_date_assumed,
                title=title,
                meaning=meanings.message(text),
            ),
            shared or Discourse(language=language or _language_of(passage.utterance.text), begins_small=begins_small),
            meanings,
        )
        for passage in passages
    )
    is_own = may_be_users(document_type, is_synced=is_synced)
    facts = _facts_of_sentences(islice(sentences, MAX_SENTENCES_PER_DOCUMENT), min_worth, may_be_users=is_own)
    return islice(deduplicate_facts(facts), MAX_FACTS_PER_DOCUMENT)


def texts_with_meaning(text: str) -> tuple[list[str], list[str]]:
    """Return what of a document is short and has a meaning of its own, and the questions that somebody answers in it.

    Items of lists, clauses of what is talked without stops, and an assistant's questions; none of a long text.
    """
    passages = list(find_passages(text)) if len(text) <= MAX_WEIGHED_CHARS else []
    said = [passage.utterance for passage in passages]
    short = [part for passage in passages if passage.is_speech for part in _parts(passage)]
    return short, [utterance.asked for utterance in said if utterance.asked and utterance.speaker is None]


def _parts(passage: Passage) -> Iterator[str]:
    text = passage.utterance.text
    if passage.is_list:
        yield from (item.text for item in listed_items(text))
    elif not passage.utterance.is_chat or passage.utterance.speaker is None:
        language = _language_of(text)
        sentences = [_spelled(sentence.text, language) for sentence in split_sentences(text)]
        is_asking = language is not None and any(asks_something(sentence, language) for sentence in sentences)
        for sentence in sentences:
            parts = _divided(sentence, language)
            # What an English clause beside a request is worth, the parser says.
            weighed = [
                part.text for part in parts if language is not None or part.is_clause or not _has_verb(part.text)
            ]
            yield from weighed if len(parts) > 1 or is_asking else ()


def _spelled(said: str, language: LanguageProfile | None) -> str:
    """Return a sentence with its misspelled words corrected, if it is English."""
    is_english = language is None and detect_language(said) is None
    return spelling_corrector().corrected(said) if is_english else said


MAX_WEIGHED_CHARS = 8000


def _begin_small(passages: Iterable[Passage]) -> bool:
    """Return whether those who chat begin most of their turns with a small letter."""
    begins = [passage.utterance.text.lstrip()[:1] for passage in passages if passage.utterance.is_chat]
    return sum(map(str.islower, begins)) > _MIN_SMALL_SHARE * len(begins)


_MIN_SMALL_SHARE = 0.6


def _language_of(text: str) -> LanguageProfile | None:
    """Return the language that a text begins with, None for English."""
    return detect_language(text[:LANGUAGE_CHARS])


def deduplicate_facts(facts: Iterable[CandidateFact]) -> Iterator[CandidateFact]:
    """Yield each fact once, except a value that is stated again after another one."""
    seen: set[str] = set()
    values: dict[tuple[str, str], str] = {}
    for fact in facts:
        key = " ".join(fact.text.casefold().split())
        if key in seen and not _changes_value(fact.attributes, values):
            continue
        seen.add(key)
        values.update({attribute.key: attribute.value for attribute in fact.attributes if attribute.is_single_valued})
        yield fact


def _speaker_context(
    passage: Passage,
    participants: frozenset[str],
    reference_date: date | None,
    *,
    is_date_assumed: bool,
    title: str,
    meaning: float,
) -> SpeakerContext:
    """Build the context of an utterance; a date in the text itself is not assumed."""
    utterance, said_on = passage.utterance, passage.utterance.said_on
    if said_on is None and not utterance.is_chat and utterance.speaker is None and reference_date is not None:
        said_on = titled_day(utterance.text, reference_date)
    has_own_date = said_on is not None
    return SpeakerContext(
        utterance.speaker,
        utterance.is_chat,
        participants,
        said_on or reference_date,
        is_date_assumed=is_date_assumed and not has_own_date,
        is_speech=passage.is_speech,
        group=team_of(utterance, title),
        meaning=0.0 if utterance.is_chat else meaning,
    )


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A sentence with its context, and its span in the document."""

    said: SaidSentence
    start: int | None
    end: int | None


def _sentences(
    passage: Passage, context: SpeakerContext, discourse: Discourse, meanings: Meanings
) -> Iterator[_Spoken]:
    if passage.is_list:
        yield from _items(passage, context, discourse, meanings)
        return
    asked = passage.utterance.asked or ""
    split = split_sentences(passage.utterance.text, split_on_newlines=passage.utterance.is_chat)
    for sentence in join_continued(split, _joined) if passage.is_speech else split:
        if not passage.is_speech and not _NAMES_SOMETHING.match(sentence.text):
            continue
        start, end = passage.span(sentence.start, sentence.end)
        said = passage.with_names(to_be_remembered(sentence.text) if passage.is_speech else sentence.text)
        if not said:
            continue
        if passage.is_speech:
            said = _with_topic(_spelled(said, discourse.language), discourse)
        answers = answered(asked, said)
        is_of_life = context.speaker is None and meanings.is_of_life(asked)
        whole = with_question(asked, said) if is_of_life else ""
        if whole and not answers:
            yield _Spoken(SaidSentence(whole, context, discourse, as_written=whole, is_sentence=False), start, end)
            asked = ""
            continue
        tasks: list[str] = []
        if passage.utterance.speaker == TEAM:
            said = without_title(said)
            if not said or passage.utterance.text[: sentence.start].lower().endswith("[x] "):
                continue
            tasks = assigned(said)
        separate = tasks or answers or (separate_statements(said) if passage.is_speech else [said])
        parts = list(_statements(said, separate, discourse.language, meanings))
        # The meaning of a whole request says nothing of what is stated beside it.
        is_beside = len(parts) > 1 or (context.meaning < 0 and _is_beside_request(passage, said, discourse.language))
        for part in parts:
            meaning = _meaning(part, context, is_beside=is_beside)
            said_now = SaidSentence(
                part.text,
                replace(context, meaning=meaning),
                discourse,
                is_answer=bool(answers),
                title=passage.title,
                as_written=part.text if part.is_whole or passage.is_field(part.text) else whole,
                is_sentence=not part.is_whole,
            )
            yield _Spoken(said_now, start, end)
        asked = ""


def _with_topic(said: str, discourse: Discourse) -> str:
    """Return a sentence in another language with whom the request before it named, if it goes on about them."""
    language = discourse.language
    if language is None:
        return said
    said = continues_request(said, discourse.topic, language)
    # A statement that is kept says itself whom it is about.
    is_asked = asks_something(said, language) or language.hedges.search(said) is not None
    goes_on = is_asked or (discourse.topic != "" and said.startswith(discourse.topic))
    discourse.topic = only_relative(said) if goes_on else ""
    return said


def _is_beside_request(passage: Passage, said: str, language: LanguageProfile | None) -> bool:
    """Return whether a sentence asks nothing in a short message that does."""
    asks = is_request if language is None else partial(asks_something, profile=language)
    return not asks(said) and any(asks(sentence.text) for sentence in split_sentences(passage.utterance.text))


def _items(passage: Passage, context: SpeakerContext, discourse: Discourse, meanings: Meanings) -> Iterator[_Spoken]:
    """Yield the items of a list: what each says as a sentence, or as it is written."""
    text = passage.utterance.text
    items = list(listed_items(text))
    fields = own_lines([item.text for item in items])
    for at, item in enumerate(items):
        if context.is_group and text[: item.start].lower().endswith("[x] "):
            continue
        start, end = passage.span(item.start, item.end)
        tasks = assigned(item.text) if context.is_group else []
        written = replace(item, title=passage.title).titled if context.is_group else item.titled
        is_kept = not tasks and item.is_kept(meanings.message(item.text), is_minutes=context.is_group)
        # Elsewhere nothing is resolved, so that an item says no more as a sentence, and less without its title.
        is_sentence = not item.is_labelled and (discourse.language is None or not is_kept)
        is_read = bool(tasks) or at in fields or is_sentence
        sentences = [sentence.text for sentence in split_sentences(item.text)] if is_read else []
        if any(sentence.count(" ") < _MIN_SPACES for sentence in sentences) or not is_read:
            sentences = [plain_text(item.text)]
        for said in tasks or ([mark_as_own(item.text)] if at in fields else sentences):
            as_written = (plain_text(written) if len(sentences) == 1 else said) if is_kept else ""
            yield _Spoken(
                SaidSentence(said, context, discourse, title=passage.title, as_written=as_written, is_sentence=is_read),
                start,
                end,
            )


_MIN_SPACES = 2
"""Spaces of what stands for itself in an item of several sentences."""


def _joined(sentence: str, before: str) -> str | None:
    """Return with the one before it a sentence that adds when or how much, or names what it tells; None for others.

    >>> _joined("Due in June.", "I'm pregnant!"), _joined("At noon.", "Lunch?")
    ("I'm pregnant, due in June.", None)
    """
    if _ADDITION.match(sentence) is not None and before[-1:] not in _OPEN and not _has_verb(sentence):
        return f"{before.rstrip(' .!')}, {sentence[:1].lower()}{sentence[1:]}"
    space = "" if before.endswith("\u3002") else " "
    return f"{before}{space}{sentence}" if continues(sentence, before) else None


def _has_verb(sentence: str) -> bool:
    words = (word.strip(".,!") for word in sentence.lower().split())
    return any(is_finite(word) or word in BASES for word in words)


_OPEN = frozenset("?:\u2026")
_TIME = (
    rf"(?:\d|{NUMBER}\b|early|mid|late|the (?:end|start|first|last|\d)|this |next |last |jan|feb|mar|apr|may\b|jun|jul|"
    r"aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|spring|autumn|winter|noon|weekends|christmas|easter|a few)"
)
_ADDITION = re.compile(
    rf"(?=.*[a-z])(?:(?:in|on|at|from|for|by) (?={_TIME})|(?:since|until|till?|every|each|once|twice|due|next|last) |"
    rf"[$\u20ac\u00a3]?\d[\d.,:]*\b|{NUMBER} )(?!.*(?:\b(?:I|I'm|we|you|he|she|it|they|please|pls|thanks)\b|: ))"
    r"(?:[\w'$\u20ac\u00a3%/:.-]+ ?){0,6}[.!]*$",
    re.IGNORECASE,
)
"""When, how often or how much, of what the sentence before tells."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Part of a sentence that stands alone; `meaning`: its own, if it has one; the others as of what is `Stated`."""

    text: str
    meaning: float | None = None
    is_whole: bool = False
    is_sought: bool = False
    is_clause: bool = False


def _meaning(part: _Part, context: SpeakerContext, *, is_beside: bool) -> float:
    """Return what a part means: only a clause of a talk is judged as a short message is, others may but gain by it."""
    if part.meaning is not None and part.is_clause and not context.is_chat:
        return part.meaning
    least = 0.0 if is_beside else context.meaning
    return least if part.meaning is None else max(least, part.meaning)


def _statements(
    said: str, separate: list[str], language: LanguageProfile | None, meanings: Meanings
) -> Iterator[_Part]:
    """Yield what a sentence says; its clauses and what it states beside a request have a meaning of their own."""
    if separate:
        yield from map(_Part, separate)
        return
    parts = _divided(said, language)
    may_greet = len(parts) > 1 and (language is not None or parts[0].is_clause) and not parts[0].is_whole
    if may_greet and parts[0].text.count(" ") < _GREETING_WORDS:
        parts = parts[meanings.kept.get(parts[0].text, _NO_GREETING) < _NO_GREETING :]
    for part in parts:
        meaning = None if part.is_whole else meanings.kept.get(part.text)
        if part.is_sought and (0.0 if meaning is None and len(parts) > 1 else meaning or _LASTS) < _LASTS:
            continue
        yield replace(part, meaning=meaning)


_LASTS = 2.0
"""Log-odds from which what somebody looks for is to be kept: a flat, and not a recipe."""
_GREETING_WORDS = 5
_NO_GREETING = 1.0
"""Words, and log-odds that it is to be kept, below which the first clause of a talk tells who speaks: `hi it's me`."""


def _divided(said: str, language: LanguageProfile | None) -> list[_Part]:
    """Return the clauses of what is talked without stops, or what a sentence states beside what it asks."""
    clauses = without_stops(said) if language is None else language.without_stops(said)
    is_talk = len(clauses) > 1
    parts: list[_Part] = []
    for clause in clauses:
        stated = None if language is None else stated_beside(clause, language)
        said_apart = with_asides(clause) if language is None else [clause]
        parts += (
            [_Part(text, is_clause=is_talk) for text in said_apart]
            if stated is None
            else [_Part(each.text, is_whole=each.is_whole, is_sought=each.is_sought) for each in stated]
        )
    return parts


def _facts_of_sentences(
    sentences: Iterator[_Spoken], min_worth: float, *, may_be_users: bool
) -> Iterator[CandidateFact]:
    while batch := list(islice(sentences, SENTENCES_PER_BATCH)):
        for spoken, facts in zip(batch, detect_facts([item.said for item in batch], min_worth), strict=True):
            context = spoken.said.context
            is_users_speech = may_be_users and context.is_speech
            for fact in facts:
                if fact.text.endswith(":"):
                    continue  # what it introduces was left out
                # A stranger may call themselves User.
                sentence = f"{context.speaker or ''}: {spoken.said.text}"
                if not (is_users_speech and context.speaker is None) and is_planted(
                    fact.text, sentence, is_speech=context.is_speech
                ):
                    continue
                attributes = comparable_attributes(fact.text)
                is_noted = fact.is_explicit or is_about_user(spoken.said.text)  # an assistant noted it of its user
                if context.meaning < OF_THE_MOMENT and not (is_noted or _has_known_kind(attributes)):
                    continue
                yield CandidateFact(
                    fact.text,
                    fact.is_static,
                    spoken.start,
                    spoken.end,
                    attributes,
                    tuple(date_range.iso8601 for date_range in fact.date_ranges),
                    # Eighths: tables keep 32 bits, and a replay has to give the same number.
                    worth=round(fact.worth.score * 8) / 8,
                    in_profile=is_users_speech and context.speaker != TEAM,
                    said_by=context.speaker,
                )


def _has_known_kind(attributes: Iterable[Attribute]) -> bool:
    return any(attribute.value_kind != "statement" for attribute in attributes)


def _changes_value(attributes: Iterable[Attribute], values: dict[tuple[str, str], str]) -> bool:
    return any(attribute.is_single_valued and values.get(attribute.key) != attribute.value for attribute in attributes)

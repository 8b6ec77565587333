"""Which sentences state a fact, and the fact as a text that stands on its own."""

import re
from dataclasses import dataclass

from pipeline.memory.chatter import (
    is_addressed,
    is_chatter,
    is_hedged,
    is_order,
    is_question,
    is_unsayable,
)
from pipeline.memory.clauses import (
    clauses,
    completed,
    is_fronted,
    main_subject,
    names_subject,
    time_last,
)
from pipeline.memory.dates import When, dated
from pipeline.memory.languages import language, lasts, states
from pipeline.memory.lasting import is_static
from pipeline.memory.openings import plain
from pipeline.memory.person import is_first_person, resolved
from pipeline.memory.verbs import ADVERBS, BASES, MODALS, is_past, is_verb
from pipeline.memory.voice import WRITER, Voice

SHORTEST, LONGEST = 3, 45
"""Words of a fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement. `is_static`: who somebody is, as opposed to what happens. `times` that it speaks of.

    `continues`: it begins with the fact before it, which says what "it" is.
    """

    text: str
    is_static: bool
    times: tuple[When, ...] = ()
    continues: bool = False


_POINTING = re.compile(
    r"^(?:it|it's|its|he|he's|she|she's|they|they're|they've|them|his|her|their|this|that|that's|these|"
    r"those|there|there's|here|here's|one|some|someone|something|anything|everything|everyone|nothing|"
    r"nobody|such|"
    r"same|another|both|having|all|as|because|since|while|although|though|when|after|before|until|once|then|"
    r"instead|however|therefore|thus|hence|for example|otherwise|not|now|maybe|sounds|glad|happy|sorry|hope|"
    r"hoping|love|loving|can't|just|got|gonna|been|wish|too|to|with|without|for|from|by|at|on|in|let's|let|"
    r"welcome|congratulations|best|good|so)\b",
    re.IGNORECASE,
)
_POINTED = re.compile(
    r"^(?:it|it's|its|he|he's|she|she's|they|they're|they've|them|this|that|that's|these|those|here|here's|"
    r"one|"
    r"some|someone|something|anything|everything|everyone|nothing|nobody|such|same|another|both|not|sounds|"
    r"so|let's|let|to|can't|there|there's|what|which|who|quite|glad|happy|sorry|hope|hoping|reminds|makes|"
    r"made|sounds|looks|feels)\b(?! of (?:my|our)\b)",
    re.IGNORECASE,
)
_THIS = re.compile(
    r"^(?:this|these|those|another) (?!\w+ly\b|(?:one|ones|is|was|are|were|has|had|have|will|can|also|just|"
    r"really|even|still|all|"
    r"time|day|week|year|got|made|said|keeps?|helps?|makes?|gives?|brings?|means?|reminds?|feels?|looks?|"
    r"sounds?)\b)[a-z]{3,} ",
    re.IGNORECASE,
)
_KEEPS_ME = re.compile(r"\b(?P<verb>\w+) (?:me|us|my|our)\b")
_CALLED = re.compile(r"^(?:[A-Z]\w+,? (?:that|this|it|what)(?:'s|\b)|[A-Z]\w+, (?!who\b|which\b))")
_SPECIFIC = re.compile(r"\d|(?<=[a-z,'] )[A-Z][a-z]+|^The [\w ]+ (?:of|for|is now|was) ")
_FIRST = re.compile(r"\b(?:I|I'\w+|my|me|myself|mine|we|we'\w+|us|our|ours)\b", re.IGNORECASE)
_WORDS = re.compile(r"[\w'\u2019-]+")
_IT = re.compile(
    r"^(?:it|this|that)(?:(?P<verb>'s|'ll)(?= )|(?= (?:\w+ly |also |still |even |just |always )*(?:is|was|"
    r"has|had|helps?|helped|will|made|makes|gives?|gave|took|takes|"
    r"brings?|brought|means?|meant|keeps?|kept|lets?|reminds?|reminded|inspires?|inspired|taught|teaches|"
    r"feels|felt|got|changed|allows?|"
    r"allowed|started|happened|can|became|went|comes|came|motivates?|drives?|drove|showed|shows)\b))",
    re.IGNORECASE,
)
_DENSE_END = "\u3002\uff01"
_END = " ,;\u2013-\u2014.!\u2026\"\u201d'"


def facts(sentence: str, voice: Voice) -> list[Fact]:
    """The facts of a sentence, each a text of its own; none for questions, greetings, hedges and fragments.

    >>> [fact.text for fact in facts("I live in Berlin and work at Acme.", Voice())]
    ['User lives in Berlin', 'User works at Acme']
    """
    text = plain(sentence, voice)
    if is_unsayable(text):
        return []
    foreign = language(text)
    if foreign is not None:
        return [_in_own_words(text, voice, lasts(text, foreign))] if states(text, foreign) else []
    found = (_fact(clause, voice) for clause in clauses(text, chat=voice.chat))
    return [fact for fact in found if fact is not None]


def _in_own_words(text: str, voice: Voice, lasting: bool) -> Fact:
    return Fact(f"{voice.who}: {text.rstrip(_END + _DENSE_END)}", is_static=lasting)


def continued(sentence: str, voice: Voice, before: Fact) -> Fact | None:
    """`It helps me relax`, right after the fact that says what does: both as one text.

    >>> continued("It helps me relax.", Voice("Ann"), Fact("Ann practises yoga", False)).text
    'Ann practises yoga; it helps Ann relax'
    """
    clause = plain(sentence, voice).strip(_END)
    match = _IT.match(clause)
    spoken = _WORDS.findall(clause)
    if match is None or not SHORTEST < len(spoken) <= LONGEST - len(before.text.split()):
        return None
    if is_unsayable(clause) or is_hedged(clause) or is_addressed(clause) or is_chatter(clause):
        return None
    when = dated(clause[match.end() :], voice.day(personal=is_first_person(clause)))
    if not when.times and not _FIRST.search(clause):
        return None
    text = resolved(f"it{match['verb'] or ''}{when.text}", voice.speaker)
    return Fact(f"{before.text}; {text}", before.is_static, (*before.times, *when.times), continues=True)


def _fact(clause: str, voice: Voice) -> Fact | None:
    clause = clause.strip(_END)
    spoken = _WORDS.findall(clause)
    if (
        not _is_long_enough(spoken)
        or len(spoken) > LONGEST
        or is_hedged(clause)
        or (voice.chat and is_addressed(clause))
    ):
        return None
    if voice.chat:
        clause = completed(clause)
    when = dated(clause, voice.day(personal=is_first_person(clause)))
    clause = time_last(when.text)
    if is_chatter(clause) or not _states(clause, voice):
        return None
    text = resolved(clause, voice.speaker)
    text = text[:1].upper() + text[1:]
    return Fact(text, is_static(text), when.times)


def _is_long_enough(spoken: list[str]) -> bool:
    """`I'm vegetarian` says in two words who somebody is; `I'm tired` does not."""
    if len(spoken) == SHORTEST - 1 and spoken[0] == "I'm":
        return is_static(f"{WRITER} is {spoken[1]}")
    return len(spoken) >= SHORTEST


def _states(clause: str, voice: Voice) -> bool:
    spoken = _WORDS.findall(clause)
    if re.match(r"I(?:'m|'ve|'ll|'d)?\b", clause):
        return _has_verb_after_i(spoken)
    if main_subject(clause):
        return (
            any(is_verb(word) for word in spoken[1:]) or re.match("we\\b", clause, re.IGNORECASE) is not None
        )
    if is_question(clause) or is_addressed(clause) or is_order(spoken[0].lower()) or _CALLED.match(clause):
        return False
    if voice.chat:
        return _speaks_of_self(clause, spoken) or (
            _SPECIFIC.search(clause) is not None and _is_prose(clause, spoken)
        )
    return not is_first_person(clause) and _is_prose(clause, spoken)


def _speaks_of_self(clause: str, spoken: list[str]) -> bool:
    """`Painting helps me relax`: about somebody in a chat, though the subject is something else."""
    if not _FIRST.search(clause) or (_POINTED.match(clause) and not _THIS.match(clause)):
        return False
    if is_fronted(clause) and not names_subject(clause):
        return False
    keeps = _KEEPS_ME.search(clause)
    if keeps is not None and keeps["verb"] in BASES:
        return True
    return any(is_verb(word) for word in spoken[:14])


def _is_prose(clause: str, spoken: list[str]) -> bool:
    """A statement about something that is named in it."""
    if _POINTING.match(clause) or not (clause[0].isupper() or clause[0].isdigit()):
        return False
    return any(is_verb(word) for word in spoken[1:8])


def _has_verb_after_i(spoken: list[str]) -> bool:
    if "'" in spoken[0]:
        return True
    verb = next((word.lower() for word in spoken[1:] if word.lower() not in ADVERBS), "")
    return (
        verb in BASES
        or is_past(verb)
        or verb in MODALS
        or verb in {"am", "was", "have", "had", "do", "did"}
        or "n't" in verb
        or verb.isalpha()
    )

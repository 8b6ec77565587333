"""Normalization of messages before they are parsed: greetings, chat spelling, omitted subjects."""

import re
from itertools import pairwise

from pipeline.memory.grammar.instructions import find_instruction
from pipeline.memory.grammar.speaker_context import DEFAULT_SPEAKER, SpeakerContext
from pipeline.memory.languages.english import english_pattern, english_words
from pipeline.memory.languages.english_rewrites import respelled, rewritten
from pipeline.memory.languages.english_subjects import begins_with_thing, with_owners
from pipeline.text.english_nouns import PARENTS
from pipeline.text.english_verbs import BASES, PASTS, is_finite, is_gerund, is_past, is_third_person, word_set
from pipeline.text.temporal_expressions import DAYS

_OPENING = re.compile(
    rf"^(?:(?:{english_pattern('openings')})(?: (?:so much|a lot|a bunch|a ton|again|there|all|guys|everyone|everybody|"
    r"team))?(?:[,!.:;\s\u2013\u2014-]+|$))+",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    rf"(?:[\s,.!;-]*(?<![\w'])(?:{english_pattern('trailings')})(?![\w']))+(?=[.!\u2026\s]*$)", re.IGNORECASE
)
_EMOTICONS = re.compile(r"\s+(?:[:;]['-]?[()DPp/|oO3]+|<3|xD|XD)(?=\s|$)")
_MID_EMOTICONS = re.compile(rf"(?<=\w){_EMOTICONS.pattern}(?=\s\w)")
_LAUGHTER = re.compile(r",? (?:lol|lmao|haha\w*|hehe|btw|by the way|tbh|ngl)(?=[ ,.!]|$)", re.IGNORECASE)
_LAUGHS = re.compile(
    r"[\s,.\u2026]+(?:(?:ja|je|ji|ha|he|hi|ah|xa|ха|хе|ах){2,}\w?|k{3,}|(?:rs){2,}|mdr+|ptdr+|w{3,})(?=\W*$)|"
    r"[(\uff08]?笑[)\uff09]?(?=\W*$)",
    re.IGNORECASE,
)
"""How people laugh in other languages, at the end."""
_ASIDE = re.compile(r"\s*\[[^\[\]]*\]\s*")
_STATES = english_pattern("states")
_USER_FIRST = re.compile(r"^(?:the )?user(?=['\u2019]s | (?P<verb>[a-z]+))", re.IGNORECASE)
_SMALL_I = re.compile(r"(?<![\w.'-])i(?=$|[ ,!?]|'(?:m|ve|ll|d)\b)")
_VOCATIVE_FIRST = re.compile(
    r"^(?:(?:I'm|I am) (?=[A-Z]\w+, ))?(?P<name>[A-Z][a-z]+)(?:, |! ?| (?=I\b|I'|my\b|we\b|we'))"
)
_VOCATIVE_LAST = re.compile(r",\s*(?P<name>[A-Z][a-z]+)(?=[.!?\u2026]*$)")
_VOWEL_SIGNS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0970-\u0d7f\u0e00-\u0e7f"
"""Marks on letters, which are no letters to a pattern: a word of Hindi or Thai may end with one."""
_SYMBOLS = re.compile(rf"^[^\w(\[\"'$\u20ac\u00a3+#@]+|[^\w.!?)\]\"'%$\u20ac\u00a3:\u2026{_VOWEL_SIGNS}]+$")
_BEGUN = re.compile(
    r"^(?P<adverbs>(?:(?:just|finally|recently|already|also|actually|still|officially|currently|no longer) )*)"
    r"(?P<verb>[A-Za-z']+)\b"
)
_WAS_LOST = re.compile(r"[.!,]|$| (?:are|is|wrong|off|missing|now|already|too|and|but|in \d)\b")
"""What follows `gone` where it is said of a thing."""
_SUBJECT = re.compile(r"(?:I|my|we|our|the|a|an|he|she|it|they|this|that|there)\b", re.IGNORECASE)
_HAD = re.compile(english_pattern("pasts_before_objects"))
_BEEN = re.compile(rf"(?:\w+ )?been (?:\w+ing|married|to|there|on|with|in|at|\w+ed|{_STATES})\b")
_PASSIVE = re.compile(
    r"\s+(?:(?:by|as|in(?! (?:my|our|the|an?|with|together|yesterday|today|last|on)\b))\b|(?:to|until|till) (?:the )?"
    rf"(?:\d{{1,2}}(?!\w* floor)|next |tomorrow|later|noon|{'|'.join(DAYS)}))"
)
"""What follows a verb whose subject is a thing: `moved to the 21st`."""
_SUBJECT_AFTER = re.compile(
    r" (?!(?:my|our|the|an?|that|out|how|what)\b)[a-z]+ (?:will|is|are|has|have|must|may|was|were)\b"
)
"""What follows a participle that belongs to the subject: `lost property will be given away`."""
_HEADING = re.compile(rf" (?:{english_pattern('heading_nouns')})\b")
_LABEL = re.compile(r"[A-Z][a-z]+ed (?!house\b|jobs?\b|schools?\b|teams?\b|in\b|out\b|home\b|\w+(?:day|ly)\b)[a-z]+$")
"""A participle and its noun as a label: `Verified purchase`."""
_NO_ACTS = word_set("was were had did felt put let read set cut said")
"""Pasts that are other forms too, or need a subject."""
_STATE = re.compile(
    r"(?!going to be an? )(?:not |still |finally |now |already |currently |officially |recently )*"
    rf"(?:going to \w+|(?<=not )\w{{3,}}ing(?! to\b)|an? (?:(?:huge|big|real) )?fan of \w|"
    rf"(?:excited|interested|pregnant|{_STATES})(?=$|,| (?!(?:meal|food|dish|recipe|menu|option|diet|\w+s)\b)))"
)
_LIKES = r"(?:prefer|hate|own|(?:love|like)(?! (?:\d+|from|to|and|the|this|that|it|your|how|an?)\b))"
_OFTEN = r"(?:always|never|usually|mostly|rarely|hardly ever)"
_PRESENT = re.compile(
    rf"(?:can't \w+|won't be \w+ing\b|weigh (?:in at )?\d|"
    rf"(?:{_OFTEN} )?(?:don't |do not )?{_LIKES} \w|don't (?!worry|bother)\w+.* any ?more\b|"
    rf"don't (?:have|live|own|speak) |(?P<often>{_OFTEN}) (?P<base>[a-z]+) (?P<place>(?:from|at|in|on|by|with|to) )?)"
)
"""Present forms that are no orders: `prefer window seats`, `can't eat nuts`, `don't drink anymore`."""
_PARTICIPLES = english_words("participles_alone")
_GERUNDS = word_set("nothing something anything everything morning evening during according including following")
_PLAIN_FINITE = word_set("is has was moved lived worked got")
"""Further verbs after a name that looks like one: `Drew moved to Rome`."""
_NO_MORE = re.compile(
    r";| [-\u2013\u2014]+ | (?:because|though|but|while|since) |, (?=(?:he|she|his|her|they|their|it|its|i)\b)"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|helps?|makes?|made|has|have|keeps?|can|will|gives?|brings?|takes?|needs?|means?)\b|"
    r"'s\b(?! \w+s?\b \w)|'s (?:an?|the|not|so|too)\b"
)


_OWNED = re.compile(r"\b(?:my|our|his|her|their) [\w-]+'s [\w-]+")
"""Something of somebody of the writer's, whose `'s` is no verb."""
_INTRODUCTION = re.compile(
    r"^(?:(?:[Hh]i|[Hh]ey|[Hh]ello|[Hh]iya|[Yy]o)(?: there)?[,!. ]+)?(?:[Ii]t'?s|[Tt]his is) (?P<me>me(?: again)?,? )?"
    r"(?!\w+day\b|Christmas|Easter)(?P<name>[A-Z]\w+)(?P<here> here| again)?(?=$|[.,!]| from\b)|^(?:I go by|(?:people|"
    r"friends|everybody|everyone) calls? me) (?P<called>[A-Z][\w'-]+)$"
)
"""How people say who they are: `hey its Joe`, `it's me, Ann`, `it's Joe here`; `it's Rome` names something else."""
_MIN_WORDS = 4
_NO_MORE_OF = re.compile(
    r"^(?:so )?no more (?P<what>[\w -]{3,20}?)(?: for me)?(?:,? I guess)?(?= since| now|[.!]*$|,)", re.IGNORECASE
)
_MIN_SHOUTED_WORDS = 3
"""Fewer words in capitals may be names: `IT`, `BMW M3`."""
_SHOUTED_VERB = re.compile(
    r"^[A-Z]{4,}(?= (?:my|our|the|an?|to|it|this|that|him|her|them|in|from|on|at)\b)|(?<=\bI )[A-Z]{2,}(?= \w)"
)


def _said_calmly(match: re.Match[str]) -> str:
    """Return a verb in capitals in small letters: `PASSED my driving test`; names stay (`SEAT to be sold`)."""
    verb = match[0].lower()
    return verb if verb == "am" or is_past(verb) or verb in _SHOUTABLE else match[0]


_SHOUTABLE = BASES - word_set("seat swift focus base rest spring python rust") | word_set(
    "really cannot never always also still just finally actually now only"
)
"""Verbs that are no names of things, and what stands before verbs."""


def normalize_message(sentence: str, context: SpeakerContext, *, is_speech: bool) -> str:
    """Return a sentence without greetings and vocatives, in common spelling, its omitted subject restored.

    >>> normalize_message("omg just moved back to Omaha lol", SpeakerContext(), is_speech=True)
    'I just moved back to Omaha'
    """
    plain = _LAUGHS.sub("", _EMOTICONS.sub("", _MID_EMOTICONS.sub(r",", sentence)))
    text = _SYMBOLS.sub("", plain.strip(" \t*_~\u2013\u2014-,;"))
    if not is_speech:
        return text
    if text.isupper() and len(text.split()) >= _MIN_SHOUTED_WORDS:
        text = text.lower()
    text = with_user_named(text)
    text = _SMALL_I.sub("I", _ASIDE.sub(" ", _SHOUTED_VERB.sub(_said_calmly, text)).strip())
    text = rewritten("agreements", text)
    text = respelled(text)
    text = _TRAILING.sub("", _LAUGHTER.sub("", _INTRODUCTION.sub(_introduced, text)))
    for _ in range(3):
        shorter = _without_vocative(_OPENING.sub("", text), context)
        if shorter == text:
            break
        text = shorter
    text = _SYMBOLS.sub("", text.strip(" \t*_~\u2013\u2014-,;"))
    text = rewritten("rewrites", rewritten("fillers", text).strip())
    if context.speaker is None or " for me" in text:  # among people it may be of what the other has told
        text = _NO_MORE_OF.sub(_given_up, text)
    text = with_owners(text)
    if begins_with_thing(text):
        first, *others = text.split(", ")
        text = ", ".join([first, *map(restore_subject, others)])
    text = rewritten("completions", text).replace("  ", " ")
    # In a mail small letters go on with the line above, and few words are a title.
    is_title = len(sentence.split()) < _MIN_WORDS and sentence[-1:].isalnum()
    is_begun = context.is_chat or context.speaker is None or (sentence[:1].isupper() and not is_title)
    return restore_subject(text) if is_begun else text


def with_user_named(text: str) -> str:
    """Return an assistant's note of its user with the user by name.

    >>> with_user_named("The user has a cat"), with_user_named("user's vegan"), with_user_named("The user guide is new")
    ('User has a cat', "User's vegan", 'The user guide is new')
    """
    return _USER_FIRST.sub(lambda match: DEFAULT_SPEAKER if is_finite(match["verb"] or "is") else match[0], text)


def _given_up(match: re.Match[str]) -> str:
    what = match["what"]
    return f"I stopped {what}" if is_gerund(what.split()[0].lower()) else f"I no longer have {what}"


def _introduced(match: re.Match[str]) -> str:
    if match["name"] is None:
        return f"I'm called {match['called']}"
    is_speaker = match["me"] or match["here"] or match[0][:1].lower() in "hy"
    return f"I'm {match['name']}" if is_speaker else match[0]


def _without_vocative(text: str, context: SpeakerContext) -> str:
    """Strip `, Mel`: the beginning of a participant's name."""

    def called(match: re.Match[str]) -> str:
        name = match["name"]
        return "" if any(who.lower().startswith(name.lower()) for who in context.participants) else match[0]

    if not context.participants:
        return text
    text = _VOCATIVE_LAST.sub(called, _VOCATIVE_FIRST.sub(called, text))
    before, _, last = text.rstrip(".!").rpartition(" ")
    is_parent = last.lower() in PARENTS and last.capitalize() in context.participants
    return before if is_parent and before and before.rpartition(" ")[2].lower() not in _BEFORE_PARENT else text


_BEFORE_PARENT = word_set(
    "my your his her their our a an the for with and to of by from at on is was 's i'm about like"
)


def restore_subject(text: str) -> str:
    """Restore an omitted `I`: `Been working on a song` becomes `I've been working on a song`."""
    match = _BEGUN.match(text[:1].lower() + text[1:] if not text[:2].isupper() else text)
    if match is None or _SUBJECT.match(text) or " " not in text:
        return text
    verb, lower, rest = match["verb"].lower(), text[:1].lower() + text[1:], text[match.end() :]
    following = rest.split(maxsplit=1)
    if following and text[:1].isupper() and (is_third_person(following[0]) or following[0] in _PLAIN_FINITE):
        return text
    if _LABEL.match(text):
        return text
    if text.startswith("Drew ") and following and following[0].endswith("ed"):
        return text
    if (present := _PRESENT.match(lower)) is not None:
        is_habit = present["often"] is None or (text[0].islower() and (present["base"] in BASES or present["place"]))
        return f"I {lower}" if is_habit and find_instruction(text) is None else text
    subject = _omitted_subject(verb, lower, rest)
    return text if subject is None else f"{subject} {lower}"


def _omitted_subject(verb: str, lower: str, rest: str) -> str | None:
    """Return `I`, `I'm` or `I've`, where a verb or a state shows that it is left out; `rest` follows the verb."""
    if _STATE.match(lower):
        return "I'm"
    if verb == "gone" and not _WAS_LOST.match(rest):
        return "I've"
    if verb == "been":
        return "I've" if _BEEN.match(lower) else None
    if _HAD.match(lower):
        return "I"
    is_participle = verb.endswith("ed") and len(verb) > 4 and verb not in _PARTICIPLES
    if is_participle or (verb in PASTS and verb not in _NO_ACTS):
        is_of_thing = (verb.endswith("ed") and _PASSIVE.match(rest)) or _SUBJECT_AFTER.match(rest)
        return None if is_of_thing else "I"
    if ": " not in rest and is_gerund(verb) and len(verb) > 5 and verb not in _GERUNDS and not _HEADING.match(rest):
        is_looking = lower.startswith("looking for ")  # `looking for a flat, must take dogs`
        said = _OWNED.sub("", _NO_MORE.split(lower)[0])
        return None if not is_looking and (_FINITE.search(said) or _acts(said.split()[1:])) else "I'm"
    return None


def _acts(words: list[str]) -> bool:
    """Return whether a gerund before these words is a thing that did something: `swimming moved to Wednesday`."""
    for word, after in pairwise([*words[:_MAX_BEFORE_ACT], ""]):
        if word in _DETERMINERS or word.endswith(","):
            return False
        if is_past(word) and (not after or after in _AFTER_ACTS):
            return True
    return False


_MAX_BEFORE_ACT = 4
_DETERMINERS = word_set("a an the my our his her their this that some")
_AFTER_ACTS = word_set("to until till well badly fine out off again now back cancelled moved")

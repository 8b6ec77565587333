"""Subjects of English notes without an owner: `dentist moved to friday` tells of the writer's dentist. Pure."""

import re

from pipeline.memory.languages.english import english_words
from pipeline.text.english_nouns import HELPERS, KIN, PARENTS, PETS, is_plural, own_noun
from pipeline.text.english_verbs import is_gerund, is_past, is_third_person, word_set

MAX_PHRASE_WORDS = 4
_PEOPLE = (KIN - PETS) | HELPERS | PARENTS
_BREAK = re.compile(r"(, | ?; | - )")
_CLITIC = re.compile(r"(?<=[a-z])(?='s )")
_ADVERBS = word_set("just finally now also still always never both officially only")
_FINITE = english_words("finite_verbs_of_notes")
_INTRANSITIVE = english_words("intransitive_pasts")
_PARTICIPLES = word_set("stolen sold broken lost gone paid")
_UNDERGOES = re.compile(r"(?:to|until|till|from|on|in|at|yesterday|today|again|now|last)\b|[.!]*$", re.IGNORECASE)
"""What follows what was done to a thing, where the auxiliary is left out: `gym membership cancelled`."""
_STATES = english_words("states_of_own")
_AFTER_STATE = re.compile(
    r"(?:again|now|to|of|with|in|on|by|since|after|until|till|for|from|at last|next|this|tomorrow)\b|[.!]*$"
)
_AFTER_GERUND = re.compile(
    r"(?:an?|the|my|our|his|her|their|to|in|into|for|on|at|up|out|back|over|with|from|again|soon|tomorrow|next|this|"
    r"\w+day)\b"
)
_AFTER_CLITIC = re.compile(r"(?:an?|the|in|on|at|from|called|named|now|not|all|[a-z]+(?:ing|ed))\b", re.IGNORECASE)
_NEW_VALUE = re.compile(
    r"(?:(?:is|'s|was|got|has been|just|(?=went|rose|dropped|fell)) ?)+(?:now |just |finally |been )*(?:(?:cut|raised|"
    r"moved|pushed|postponed|delayed|changed|rescheduled|extended|upgraded|lowered|increased|reduced|went|rose|dropped|fell)\b.{0,20}?"
    r"(?:\d|\bto\b|\buntil\b|\btill\b)|(?:at|on|in|with) [^,]{2,40}? (?:now|instead)\b)|"
    r"(?:is|'s) (?:now )?(?:at|up to|down to) [$\u20ac\u00a3]?\d"
)
"""A value that is new, or a time, which in a note is of something of the writer's: `budget got cut to 15k`."""
_MAX_VALUED_WORDS = 2
_CERTAIN = re.compile(
    r"\d|\b(?:gone|off|over|fixed|broken|now|again|anymore|finally|yesterday|today|last|since|tomorrow|next|\w+day)\b"
)
"""What tells of certain ones, and not of all children."""
_DATED = re.compile(
    r"\b(?:moved|cancelled|now|again|yesterday|since|tomorrow|next|in (?:jan|feb|mar|apr|may|jun|jul|aug|"
    r"sep|oct|nov|dec)\w*|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|on the \d\w*|at \d+|until|till)\b",
    re.IGNORECASE,
)
"""What tells of the writer's thing at a time, and not of an offer."""
_OF_OTHERS = re.compile(r"\baccording to\b|\bsays? the\b|\bis the \w+est\b|\b(?:is|are|was) (?:my|our)\b")
"""What is said of things in general."""
_OWN_BEGIN = re.compile(r"(?:I|I'\w+|my|we|our|no I|can't|got|been|just|not) ")
_RELATIVE_FIRST = re.compile(
    rf"(?:my|our) (?:[a-z]+ )?(?:{'|'.join(sorted(_PEOPLE | PETS))})\b(?: (?-i:[A-Z])\w+)?", re.IGNORECASE
)
OF_ANYBODY = re.compile(
    r"(?:the )?(?:wedding|birthday|due date|surgery|op|operation|funeral|graduation|anniversary|diagnosis)\b",
    re.IGNORECASE,
)
"""What without an owner is of whom was spoken of, and else the speaker's."""
_NO_OWNER = english_words("no_own_things") | word_set(
    "they i we he you my and but so then not if as it everyone someone somebody people no in on at to for from"
)
_AFTER_SUBJECT = word_set("has have had one two three four five six seven eight nine ten")
"""What follows a subject, so that the owned thing after it is an object: `Tom has two cats called Bo and Mo`."""
_OF_RELATIVE = re.compile(
    rf"^(?=(?:{'|'.join(sorted(KIN - PARENTS))})'s [a-z]+ (?:[a-z]+ )?(?:is|was|has|got|starts|moved)\b)", re.IGNORECASE
)


def with_owners(text: str) -> str:
    """Return a note with `my` before what is its writer's, and with the copula that was left out.

    >>> with_owners("boiler broke again, plumber coming thursday"), with_owners("kids are expensive")
    ('my boiler broke again, my plumber is coming thursday', 'kids are expensive')
    """
    first, *others = _BREAK.split(_OF_RELATIVE.sub("my ", text))
    stated = _with_owner(first)
    if _OWN_BEGIN.match(stated) is not None:
        relative = _RELATIVE_FIRST.match(stated)
        others[1::2] = (
            f"{relative[0]}'s {part}"
            if relative is not None and OF_ANYBODY.match(part) is not None
            else _with_owner(part, is_first=False)
            for part in others[1::2]
        )
    return "".join([stated, *others])


def begins_with_thing(text: str) -> bool:
    """Return whether a note begins with a thing of its writer's, which does nothing by itself: `my visa came`."""
    words = text.lower().split()
    nouns = [word for word in words[1 : MAX_PHRASE_WORDS + 1] if own_noun(word) is not None]
    return words[:1] == ["my"] and bool(nouns) and nouns[-1] not in _PEOPLE | PETS


def _with_owner(clause: str, *, is_first: bool = True) -> str:
    """Return a clause with the owner of its subject; a bare value that is not the first is of what came before."""
    if _OF_OTHERS.search(clause) is not None:
        return clause
    words = _CLITIC.sub(" ", clause, count=1).split()
    for size in range(1, min(MAX_PHRASE_WORDS + 1, len(words))):
        last = words[size - 1]
        is_in_law = last == "in" and words[size : size + 1] == ["law"]
        is_other = size > 1 and (not last.replace("-", "").islower() or last in _AFTER_SUBJECT)
        if (last.lower().partition("'")[0] in _NO_OWNER and not is_in_law) or last == "'s" or is_other:
            break
        begin = size
        while begin < len(words) - 1 and words[begin] in _ADVERBS:
            begin += 1
        left_out = _left_out(words[:size], words[begin], " ".join(words[begin + 1 :]))
        if left_out is not None and (is_first or own_noun(" ".join(words[:size])) is not None):
            words[0] = words[0] if words[0].isupper() else words[0].lower()
            if words[begin] == "'s":
                words[begin] = "has" if words[begin + 1].strip(".,!") in _INTRANSITIVE else "is"
            stated = " ".join(filter(None, ["my", *words[:begin], left_out, *words[begin:]]))
            return stated.replace(" 's ", "'s ")
    return clause


def _left_out(phrase: list[str], verb: str, after: str) -> str | None:
    """Return the auxiliary left out before a verb or state of the writer's own; None where it is not their own."""
    what, noun = " ".join(phrase), phrase[-1].lower()
    if own_noun(what) is None:
        is_valued = len(phrase) <= _MAX_VALUED_WORDS and _NEW_VALUE.match(f"{verb} {after}") is not None
        return "" if is_valued and phrase[0].islower() and not is_past(noun) and not is_gerund(noun) else None
    if what.lower() in PARENTS and not is_gerund(verb):
        # `mum` is the writer's as it stands, but for what may be a noun, as `lives`
        return "" if is_third_person(verb) and verb not in _FINITE else None
    is_many = is_plural(noun)
    verb = verb.rstrip(".!")
    if is_many and not _CERTAIN.search(after) and not is_gerund(verb) and not is_past(verb):
        return None
    be = "are" if is_many else "is"
    if verb == "'s":
        is_verb = _AFTER_CLITIC.match(after) or _is_state(*after.partition(" ")[::2]) or after[:1].isdigit()
        return "" if is_verb else None
    if is_gerund(verb):
        return be if noun in _PEOPLE and _AFTER_GERUND.match(after) else None
    if _is_state(verb, after):
        return None if what == "back" else be  # `back home`
    is_participle = verb in _PARTICIPLES or (verb.endswith("ed") and verb not in _INTRANSITIVE)
    if is_participle and noun not in _PEOPLE and _UNDERGOES.match(after):
        return "have been" if is_many else "has been"
    is_lasting = verb in ("was", "were") or (is_third_person(verb) and verb not in _FINITE)
    if is_lasting and noun not in _PEOPLE | PETS and not _DATED.search(after):
        return None  # `gym was packed`, `delivery includes a card`
    return "" if verb in _FINITE or is_past(verb) or is_third_person(verb) else None


def _is_state(word: str, after: str) -> bool:
    return word in _STATES and _AFTER_STATE.match(after) is not None

"""Sentences that say several things of their speaker at once, or some in passing, made one statement each. Pure."""

import re
from collections.abc import Iterator

from pipeline.memory.grammar.instructions import find_instruction
from pipeline.memory.languages.english import english_pattern, english_words
from pipeline.memory.languages.english_rewrites import NUMBER
from pipeline.text.english_nouns import HELPERS, KIN, PETS, RELATIVES, is_plural
from pipeline.text.english_verbs import BASES, is_finite, is_third_person, word_set

_BEGIN = re.compile(
    r"^(?:[\w' -]{2,40}: )?(?:(?:hi|hey|hello|hiya|heya|yo)(?: (?:there|all|everyone|everybody))?[,!.]? )?"
    r"(?P<own>(?:I am|I['\u2019]?m|(?:my )?name(?: is|['\u2019]?s)|this is) )?(?=\S)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?P<name>[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2})(?P<here> here)?$")
_AGE = re.compile(r"(?:aged? )?(?P<years>1[3-9]|[2-9]\d)(?: ?(?:years old|yrs? old|yo|y/o))?$", re.IGNORECASE)
_ROLE = re.compile(
    r"(?!not\b|so\b|your?\b|sure\b)(?P<article>an? |the )?(?P<role>(?:[\w&/-]+ ){0,3}?(?!bett|oth|nev|eith|sob|eag)"
    r"[a-z]*(?:[a-z]{2}er|[td]or|ist|yst|ian|(?<!import)(?<!toler)ant|dent|nurse|midwife|chef|cook|pilot|coach|vet|"
    r"clerk|lead|mechanic)(?: (?:at|for|in|with|from|of|by) .+)?)$",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"(?:(?:originally|now|currently|happily|recently|newly|proudly) )?(?:(?:from|based in|living in|born in|working "
    r"(?:at|for|in|as)|studying|allergic to) \S.*|(?:[a-z]+[ -]intolerant|married|engaged|divorced|widowed|single|"
    r"separated|retired|unemployed|self-employed|vegan|vegetarian|diabetic|coeliac|celiac|left-handed|non-binary|trans|"
    r"deaf|bilingual)\b[^,]*)$",
    re.IGNORECASE,
)
_FAMILY = re.compile(
    rf"(?:(?:with|and|has|have|got) )?(?P<had>(?:{NUMBER}|an?) (?:[a-z]+ )?(?:{'|'.join(sorted(KIN))}|sons|daughters|"
    r"brothers|sisters|boys|girls|siblings|rabbits|horses)\b.*)$",
    re.IGNORECASE,
)
_NEXT_MEETING = re.compile(r"Next meeting(?: is)?(?: on)?:? (?P<when>(?:\w+day,? )?(?:the )?\d.*)$", re.IGNORECASE)
_TASK = re.compile(
    r"@?(?P<who>(?:[A-Z]\. ?)*[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2})(?: to |: | [\u2013-] | (?:->|"
    r"\u2192) )(?:to )?(?P<verb>[a-z]+)(?P<rest>.*)$"
)
"""Who has to do what: `Clive: book the hall`, `Sofia to write to Ann`."""
_ORDERS = BASES | english_words("orders")
_STATES = word_set("blocked away sick ill")
_ACTION = re.compile(r"^(?:Actions?|Action item|To-?do|Task): ?", re.IGNORECASE)
_DECISION = re.compile(
    r"(?:Decisions?|Decided|Agreed|Resolutions?|Resolved|Outcome|Conclusion): ?(?P<what>(?P<first>[\w-]+) .+)$",
    re.IGNORECASE,
)
_OF_CLAUSE = frozenset({"we", "the", "a", "an", "our", "all", "no", "to", "that"})
_OWN_CLAUSE = re.compile(r"(?:and |but |so )?(?P<clause>(?:[Ii]|[Ii]['\u2019]\w+|my|we|our) \S.*)$")
_HABIT = re.compile(r"(?:live|work|study|speak|play|teach|love|hate|prefer|grew|moved)\b(?! ?,)", re.IGNORECASE)
_COMMA = re.compile(r", (?:and )?(?![^(]*\))")
_LIVES_WITH = re.compile(
    r"^(?P<home>(?:.*?\b)?(?P<who>I|we) live (?:in|near|outside) [\w' -]{2,40}?)(?P<kin> with (?:my|our) [^,;.!?]+?)"
    r"(?P<rest>(?:,| and (?:I|we)\b|[.!]*$).*)$"
)

MIN_RUN_ON_WORDS = 16
"""Words from which a sentence without any stop is several."""
_MIN_WORDS_OF_STOP = 40
"""Words of a text without stops, for each that it has."""
_STOPS = re.compile(r"[,;:!?]|\. ")
_NEW_CLAUSE = re.compile(
    r"(?<! since)"
    r" (?:(?:(?:and|but|so|also|anyways?|plus|oh|then|basically|alright|well|cos|because|um+|uh+|quick update|"
    r"what else)(?: yeah)? )+(?=(?:(?:starting|from) \w+ )?(?:i|i'\w+|we|we're|he|she|they|they're|it's|its|"
    r"there's|the|my|our|dads?|mums?|moms?|tell|call|if|use|(?-i:[A-Z])[a-z]+(?:'s| (?:is|was|has|had|can|can't|will|"
    r"won't|\w+ed|got|went|left|said|wants|needs|thinks|gave|took|came|says|works|lives)))\b)|"
    r"(?<!that )(?<!what )(?<!when )(?<!because )(?<!think )(?<!said )(?<!and )(?<!where )(?<!if )(?<!know )"
    r"(?<! why )(?<! how )(?<! than )(?<! as )(?<! or )(?<! who )(?<! so )(?<! but )(?<! cos )"
    r"(?=(?:i'm|i've|we're|they're|(?:he|she)(?:'s| [a-z]+)) ))",
    re.IGNORECASE,
)
"""Where another clause begins: `… on monday and they pay me …`."""
_GREETING = r"^(?:(?:hi|hey|hello|yo|ok|okay|so|and|but|oh|also|btw|now|then|well|actually|quick one)\b[\s,:!-]*)*"
_REQUEST = re.compile(
    rf"\?\W*$|\b(?:please|pls|any (?:ideas?|tips|advice|suggestions?))\b|{_GREETING}(?:(?:can|could|would|will) (?:you|"
    r"u)|what|how|which|where|who|why|is (?:it|there)|are there|do|does|should|suggest|recommend|write|give|help|make|"
    r"find|show|tell|explain|draft|plan|compare|list|need|looking for)\b",
    re.IGNORECASE,
)
_SELF = r"(?:I|im|ive|we|my|our)\b(?! (?:was|were|said|mentioned|guess|think|mean|wonder|assume|hope|would|could)\b)"
_PROPER = r"(?-i:[A-Z])\w+"
_JOINED = (
    r"(?:because|(?:ever )?since|now that|given that|seeing as|"
    rf"as(?= (?:I'm|I am|I have|we're|my|our|{_PROPER} (?:has|is))\b))"
)
_REASON_FIRST = re.compile(
    rf"{_GREETING}{_JOINED} (?P<own>{_SELF}[^,]{{6,}}?)(?:, ?|(?<! and)(?<! that) (?=(?:I|we|my|our|what|how|which|"
    r"where|can|could|should|do|is there)\b))(?P<rest>\w.*)$",
    re.IGNORECASE,
)
"""A reason before what it explains: `since we moved out of the city I need a car`."""
_REASON_LAST = re.compile(
    rf"^(?P<rest>.*?\w)[,;]? {_JOINED} (?P<own>(?:{_SELF}|{_PROPER} (?:has|is|can't|doesn't|won't)\b).*)$",
    re.IGNORECASE,
)
_RUN_ON = re.compile(
    rf"^(?P<rest>.*?\w\W{{0,2}})(?:[,;]|\.\.+| -+) ?(?:(?:and|but|also|btw|by the way)\b,? ?)*"
    rf"(?P<own>(?:{_SELF}|(?:he|she|they)\b(?! would\b)|it(?:'s| is| has)\b).*)$",
    re.IGNORECASE,
)
"""What somebody adds to a request: `suggest a gift for my brother, he is into climbing`."""
_UNREAL = re.compile(rf"\b(?:{english_pattern('unreal_words')})\b", re.IGNORECASE)
_PERSON = "|".join(sorted(RELATIVES | PETS | HELPERS))
_IN_LAW = re.compile(r"\b((?:mother|father|sister|brother|son|daughter)s?) in law\b", re.IGNORECASE)
_TITLED = r"(?:Dr|Prof|Mrs?|Ms)\.? (?-i:[A-Z])[\w-]+"
_NO_DAY = r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Christmas|Easter)"
_QUESTION_WORD = re.compile(
    r"(?:what|which|where|how|why|who|when|can|could|would|should|do|does|did|is|are|will|any|have|has|am|was|were)\b",
    re.IGNORECASE,
)
_QUESTION_AFTER = re.compile(
    rf"(?<=[\w)])(?:,? (?:so|and|but)|,|\.\.+|;| -) (?=(?:{_QUESTION_WORD.pattern}|(?:any |some |good )*(?:\w+ ){{0,3}}"
    r"(?:ideas?|tips?|suggestions?|advice|recommendations?|thoughts)\b)[^,;]*\?$)",
    re.IGNORECASE,
)
"""Begin of a question after a statement."""
_UNMARKED_QUESTION = re.compile(
    r"(?<=[\w)])(?:,? (?:so|and|but)|,|\.\.+|;| -) (?=(?:what(?:['\u2019]?s)? (?!an? )|how (?:do|can|should|much|"
    r"many|long|often)\b|(?:can|could|would) (?:you|u|I|we)\b|should I\b|(?:any|some) (?:good )?(?:ideas?|tips?|"
    r"suggestions?|advice)\b)[^,;]*$)",
    re.IGNORECASE,
)
"""The same of one without its mark."""
_NAMED_PERSON = re.compile(
    rf"\b(?P<who>(?:my|our) (?:[a-z]+(?:'s)? )?(?P<kind>{_PERSON}))(?: \(|,)? ?"
    rf"(?P<name>{_TITLED}|{_NO_DAY}[A-Z][a-z]+(?:-[A-Z][a-z]+)?(?: {_NO_DAY}[A-Z][a-z]+)?)\b"
)
_AS_ROLE = re.compile(
    rf"(?:{_GREETING}|, )as (?P<role>an? [\w -]{{3,30}}?)(?:, ?| (?=(?:I|we|my|what|how|which)\b))(?P<rest>.*)$",
    re.IGNORECASE,
)
"""What somebody is, before their point: `as a vegetarian I struggle to get enough protein`."""
_LONG_AGO = re.compile(r"(?:(?:I|we) (?:\w+ed|was|were|had|used to|went|grew|loved)\b)", re.IGNORECASE)


def separate_statements(sentence: str) -> list[str]:
    """Return the statements of an introduction or of a home that is shared; none for any other sentence.

    >>> separate_statements("I'm Nora, 34, nurse at Karolinska, two kids, Alma (6) and Vidar (3)")
    ["I'm Nora", "I'm 34", "I'm a nurse at Karolinska", 'I have two kids, Alma (6) and Vidar (3)']
    >>> separate_statements("I live in Lisbon with my cat Pixel, and I work as a nurse.")
    ['I live in Lisbon, and I work as a nurse.', 'I live with my cat Pixel']
    >>> separate_statements("I'm tired, hungry, and I miss my cat.")
    []
    """
    if sentence.rstrip().endswith("?"):
        return []
    if (shared := _LIVES_WITH.match(sentence)) is not None:
        return [f"{shared['home']}{shared['rest']}", f"{shared['who']} live{shared['kin']}"]
    return _introduction(sentence.rstrip(" .!"))


def assigned(item: str) -> list[str]:
    """Return what an item of minutes says of who does what, or of what was decided.

    >>> assigned("Decision: raise fees to 30"), assigned("Agreed: release moves to 2 Dec"), assigned("Agreed: we move")
    (['The team decided to raise fees to 30'], ['The team decided that the release moves to 2 Dec'], [])
    >>> assigned("Clive: book the hall by 15 Sept"), assigned("Sofia to write to Ann"), assigned("Water: off")
    (['Clive is to book the hall by 15 Sept'], ['Sofia is to write to Ann'], [])
    """
    if (meeting := _NEXT_MEETING.match(item)) is not None:
        return [f"The team's next meeting is on {meeting['when']}"]
    if (decided := _DECISION.match(item)) is not None:
        return _decided(decided["first"].lower(), decided["what"])
    match = _TASK.match(_ACTION.sub("", item))
    if match is None or match["verb"] not in _ORDERS | _STATES:
        return []
    return [f"{match['who']} is {'to ' if match['verb'] in _ORDERS else ''}{match['verb']}{match['rest']}"]


def _decided(first: str, what: str) -> list[str]:
    """Return what was decided, unless it is a sentence of its own."""
    if first in _OF_CLAUSE:
        return []
    if first in _ORDERS:
        return [f"The team decided to {what[:1].lower()}{what[1:]}"]
    is_clause = any(is_third_person(word) or word in ("is", "are", "will") for word in what.lower().split()[1:4])
    return [f"The team decided that the {what}" if is_clause else f"The team decided on {what}"]


def _introduction(sentence: str) -> list[str]:
    """Return a statement for each trait between commas, where there are two and the first part is one."""
    begin = _BEGIN.match(sentence)
    first, *others = _COMMA.split(sentence[begin.end() if begin else 0 :])
    is_named = begin is not None and begin["own"] is not None
    name = _NAME.match(first)
    if name is not None and name["here"]:
        is_named, first = True, name["name"]
    opening = f"I'm {first}" if is_named and name is not None else _trait(first)
    if opening is None or not (is_named or _STATE.match(first)):
        return []
    statements = [opening]
    traits = 1
    for part in others:
        if (own := _OWN_CLAUSE.match(part)) is not None:
            statements.append(own["clause"])
        elif (trait := _trait(part)) is not None:
            statements.append(trait)
            traits += 1
        else:
            statements[-1] += f", {part}"
    return statements if traits > 1 else []


def _is_role(part: str) -> bool:
    """Return whether `a nurse` or `a vegetarian` is what somebody is, and not `a rule`."""
    bare = _WITH.split(re.sub("^(?:an? )?(?:type \\d )?", "", part), maxsplit=1)[0]
    return bare not in _NO_ROLES and (_STATE.match(bare) or _ROLE.match(bare)) is not None


_WITH = re.compile(r" (?:with|on|who) ")
_NO_ROLES = english_words("no_roles")


def _trait(part: str) -> str | None:
    return next(_readings(part), None)


def _readings(part: str) -> Iterator[str]:
    """Yield what a part says of its speaker, the surest reading first."""
    if (age := _AGE.match(part)) is not None:
        yield f"I'm {age['years']}"
    if _STATE.match(part):
        yield f"I was {part.lower()[:4]}{part[4:]}" if part[:5].lower() == "born " else f"I'm {part}"
    if _HABIT.match(part):
        yield f"I {part[:1].lower()}{part[1:]}"
    if (family := _FAMILY.match(part)) is not None:
        yield f"I have {family['had']}"
    if (role := _ROLE.match(part)) is not None:
        article = role["article"] or ("an " if role["role"][0].lower() in "aeiou" else "a ")
        yield f"I'm {article}{role['role']}"


def without_stops(sentence: str) -> list[str]:
    """Return the clauses of what was dictated or typed without a stop, each where a speaker begins anew.

    >>> said = "so i started at the bakery on monday and they pay sixteen an hour and i get free bread every day"
    >>> without_stops(said)
    ['so i started at the bakery on monday', 'they pay sixteen an hour', 'i get free bread every day']
    """
    return [clause for part in _BREAK.split(sentence) for clause in _run_on(part)]


_BREAK = re.compile(english_pattern("breaks"), re.IGNORECASE)
"""Where something else is told, for which the parser needs a sentence of its own."""


def _run_on(sentence: str) -> list[str]:
    words = sentence.count(" ")
    if words < MIN_RUN_ON_WORDS or len(_STOPS.findall(sentence)) * _MIN_WORDS_OF_STOP > words:
        return [sentence]
    return [part for part in _NEW_CLAUSE.split(sentence) if part]


def is_request(sentence: str) -> bool:
    """Return whether a sentence asks an assistant or anybody for something.

    >>> is_request("any tips for Rome"), is_request("I live in Rome")
    (True, False)
    """
    return _REQUEST.search(sentence) is not None


def with_asides(sentence: str) -> list[str]:
    """Return a sentence without what it says in passing, and that as statements.

    >>> with_asides("Can you suggest a gift for my brother Tom, he turns 40?")
    ['Can you suggest a gift for my brother Tom?', 'he turns 40', 'my brother is called Tom']
    >>> with_asides("as a vegetarian I struggle"), with_asides("since we moved to Rye I need a car")
    (["I'm a vegetarian", 'I struggle'], ['we moved to Rye', 'I need a car'])
    >>> with_asides("I like Rome, my sister likes Oslo")
    ['I like Rome, my sister likes Oslo']
    """
    sentence = _IN_LAW.sub(r"\1-in-law", sentence)
    plain = sentence.replace("\u2019", "'")
    if (before := _REASON_FIRST.match(plain)) is not None:
        return [before["own"], *with_asides(before["rest"])]
    role = _AS_ROLE.search(plain)
    if role is not None and _is_role(role["role"]) and not _LONG_AGO.match(role["rest"]):
        rest = plain[: role.start()].strip(" ,") or role["rest"]
        return [f"I'm {role['role']}", *(with_asides(rest) if rest else [])]
    if (said := without_question(plain)) != plain and not is_request(said):
        return [*with_asides(said), *with_asides(_JOINT.sub("", plain[len(said) :]))]
    parts = [sentence]
    is_asking = is_request(plain)
    reason = _REASON_LAST.match(plain) if is_asking else None
    added = reason or (_RUN_ON.match(plain) if is_asking else None)
    if added is not None and not (_UNREAL.search(added["rest"]) or find_instruction(added["rest"])):
        end = "?" if plain.rstrip().endswith("?") else ""
        parts = [f"{added['rest'].rstrip(' ,')}{end}", without_question(added["own"]).rstrip("? ")]
        parts = parts[:: -1 if reason is not None else 1]  # a reason names nobody of the request
    elif is_asking:
        parts += _without_verb(plain)
    named = list(_named(plain))
    return [*parts, *named] if is_asking else [*named, *parts]


def _without_verb(request: str) -> Iterator[str]:
    """Yield what stands behind a comma of a request without a verb; its meaning has to tell that it lasts.

    >>> list(_without_verb("dinner for six please, nut allergy here, and what is quick?"))
    ['nut allergy here']
    """
    _, *others = _COMMA.split(request)
    for part in others:
        words = part.lower().strip(" .!?").split()
        is_phrase = 1 < len(words) <= _MAX_PHRASE_WORDS and not (
            part.rstrip().endswith("?") or _MEANS_OTHERS.search(part)
        )
        if is_phrase and not any(is_finite(word) or word in BASES for word in words):
            yield part.strip(" .!")


_MAX_PHRASE_WORDS = 8
_MEANS_OTHERS = re.compile(r"\b(?:it|them|this|that|these|those|mine|ours|ones?)\b", re.IGNORECASE)
_JOINT = re.compile(r"^[\W_]*(?:(?:so|and|but) )?")
"""What joins a question to the statement before it."""


def without_question(text: str) -> str:
    """Return what is said before a question at the end of a sentence.

    >>> without_question("I'm coeliac, any ideas?"), without_question("hey, any ideas?")
    ("I'm coeliac", 'hey, any ideas?')
    """
    asked = (_QUESTION_AFTER if text.rstrip().endswith("?") else _UNMARKED_QUESTION).search(text)
    said = "" if asked is None else text[: asked.start()]
    return said if " " in said else text


def _named(sentence: str) -> Iterator[str]:
    """Yield the names that a sentence gives the speaker's people."""
    for named in _NAMED_PERSON.finditer(sentence):
        if not is_plural(named["kind"]):
            yield f"{named['who']} is called {named['name']}"

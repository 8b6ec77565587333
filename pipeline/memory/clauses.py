"""A sentence to the clauses that can stand alone, each with its subject."""

import re

from pipeline.memory.antecedents import antecedent, begins_with_pronoun, named
from pipeline.memory.coordination import shared_subject, spelled_out
from pipeline.memory.verbs import PASTS, is_verb, words

_SHORTEST = 3
_MINE = r"(?:I|I'm|I've|I'll|I'd|[Mm]y|[Ww]e|[Ww]e're|[Ww]e've|[Ww]e'll|[Oo]ur)\b"
_PERHAPS = r"(?:(?:maybe|perhaps|probably|hopefully|I think|I guess) )?"
_CUT = re.compile(
    rf"(?:,? (?:and|but|so|plus)(?: (?:also|now|then))? |; |, | ?[-\u2013\u2014]+ |"
    rf"(?P<colon>: ))(?={_PERHAPS}{_MINE})|"
    r"(?: [-\u2013\u2014]+ |,? (?:and|but|so|which) |; )(?=(?:it|that|this|it's|that's|was|is)\b)|"
    r"(?: [-\u2013\u2014]+ |; )(?=(?:they|he|she|they're|he's|she's|so|a|such|what|here's|super|definitely|"
    r"just)\b)|"
    r"(?P<listed>, )(?=(?:also |then |just |now )?\w+ )|"
    r"(?:,)? (?:and|but) (?=(?:also |then |just |now )?(?P<verb>\w+(?:'s)?) )"
)
_AND = re.compile(r"\b(?:and|but) $")
_SUBJECT = re.compile(r"(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")
_FRONTED = re.compile(
    r"^(?:when|while|since|after|before|because|although|though|as|once|until|till|in|on|at|during|for|"
    r"from|with|"
    r"without|by|besides|despite|apart from|aside from|growing up|last|this|next|yesterday|today|tonight|"
    r"tomorrow|around|"
    r"earlier|whenever|every|back|over|recently|lately|one (?:day|night|time)|(?:one|two|three|four|a|an) "
    r"(?:year|month|week|day)s? ago|"
    r"\w+ (?:years|months|weeks|days) ago|a (?:few|couple))\b",
    re.IGNORECASE,
)
_TIME_FIRST = re.compile(
    r"^(?P<time>(?:(?:late|earlier|later|early) )?(?:on|in|around|since|by|until|before|after) (?:the \w+ "
    r"of )?(?:\d{1,2} )?"
    r"(?:[A-Z][a-z]+ )?\d{4}),? (?P<rest>(?:I|we|my|our|there)\b.*|(?-i:[A-Z][a-z]+) [^:]+)$",
    re.IGNORECASE | re.DOTALL,
)
_MOODS = words(
    "excited interested tired scared bored pleased blessed honored honoured inspired amazed proud worried"
)
_NOT_MINE = words(
    "turned looked sounded seemed said loved agreed been missed based used need speed red bed hundred "
    "indeed feed wed something nothing anything everything morning evening during according including "
    "following "
    "interesting amazing exciting king spring read set put cut hit quit let felt"
)
_SHARED = re.compile(
    r"^(?:here's|here is|here are|here're|check out|look at|take a look at|this is|have a look at|i'm "
    r"sharing) "
    r"(?=(?:(?:an?|the|some|my|this|one of my|our) )?(?:\w+ ){0,2}(?:pics?|photos?|pictures?|snaps?|shots?|"
    r"images?|selfies?|videos?|"
    r"screenshots?|recipe|link)\b)(?:this )?",
    re.IGNORECASE,
)
_AFTER_COMMA = re.compile(r"^[^,]{3,80}, (?P<rest>\w.*)$", re.DOTALL)
_POINTS = re.compile(
    r"(?:it|that|this|they|he|she|these|those|there|you|it's|that's|they're|he's|she's|there's|so|what|and|"
    r"but|or|who|which)\b",
    re.IGNORECASE,
)
_UNDER = re.compile(
    rf"^(?:since|because|when|while|as|after|before|although|though|once|whenever) (?:\S+ "
    rf"){{2,12}}(?={_MINE})",
    re.IGNORECASE,
)
_CALL_ME = re.compile(r"^(?:[Pp]lease,? |[Jj]ust |[Yy]ou can )*[Cc]all me (?=[A-Z])")
_NO_MORE = re.compile(r"[,;]| [-\u2013\u2014]+ | (?:because|though|but) ")
_BEGUN = re.compile(
    r"^(?:(?:just|finally|recently|already|even|also|actually|still) )*(?P<verb>[A-Za-z']+)\b", re.IGNORECASE
)


def clauses(text: str, *, chat: bool = False) -> list[str]:
    """`I live in Berlin and work at Acme` as two statements, where both surely have the same subject."""
    return _cut(completed(text) if chat else text)


def _cut(text: str) -> list[str]:
    found: list[str] = []
    begin = 0
    for match in _CUT.finditer(text):
        head, rest = text[begin : match.start()], text[match.end() :]
        second = _second(head, rest, match)
        if second is not None:
            return [*found, head, *_cut(second)]
        if match["colon"] is not None and not _SUBJECT.match(head):
            continue
        if match["verb"] is None and match["listed"] is None and _stands(head):
            found.append(head)
            begin = match.end()
    return [*found, text[begin:]]


def _second(head: str, rest: str, match: re.Match[str]) -> str | None:
    """What follows with the subject of `head`, where it can have no other."""
    if match["listed"] is None and not _AND.search(match[0]):
        return None
    if begins_with_pronoun(rest):
        who = antecedent(head)
        return None if who is None else named(rest, who)
    subject = shared_subject(head, rest, listed=match["listed"] is not None)
    return None if subject is None else f"{subject} {rest}"


def _stands(head: str) -> bool:
    """Whether what comes before a cut has a subject and a verb of its own."""
    spoken = spelled_out(head).split()
    if _POINTS.match(head):
        return True
    if len(spoken) < _SHORTEST:
        return False
    if main_subject(head):
        return not re.search(r"\b(?:that|because|when|if|whether|how|what)$", head)
    return not _FRONTED.match(head) and any(is_verb(word) for word in spoken[1:])


def completed(clause: str) -> str:
    """The `I` that chats leave out: `Been working on a song` is `I've been working on a song`."""
    if _SHARED.match(clause):
        return _SHARED.sub("I shared ", clause)
    if _CALL_ME.match(clause):
        return _CALL_ME.sub("I want to be called ", clause)
    match = _BEGUN.match(clause)
    if match is None or _SUBJECT.match(clause):
        return clause
    verb, lower = match["verb"].lower(), clause[:1].lower() + clause[1:]
    if verb == "been":
        return f"I've {lower}"
    if re.match(r"going to \w+", lower) or (verb in _MOODS and " " in clause):
        return f"I'm {lower}"
    if lower.startswith("used to "):
        return f"I {lower}"
    if (verb in PASTS or (verb.endswith("ed") and len(verb) > 4)) and verb not in _NOT_MINE:
        rest = clause[match.end() :]
        return f"I {lower}" if not re.match(r"\s+(?:by|as|in)\b", rest) or verb in PASTS else clause
    if (
        verb.endswith("ing")
        and verb not in _NOT_MINE
        and len(verb) > 5
        and not any(map(is_verb, _NO_MORE.split(clause)[0].split()[1:]))
    ):
        return f"I'm {lower}"
    return clause


def time_last(clause: str) -> str:
    """`On 7 May 2023 I ran` as `I ran on 7 May 2023`: the subject first, where facts are compared by it."""
    match = _TIME_FIRST.match(clause)
    if match is None:
        return clause
    rest, time = match["rest"].rstrip(" .!\u2026"), match["time"]
    return f"{rest[:1].upper()}{rest[1:]} {time[:1].lower()}{time[1:]}"


def is_fronted(clause: str) -> bool:
    """Whether something stands before the subject: a time, a place, a condition."""
    return _FRONTED.match(clause) is not None


def names_subject(clause: str) -> bool:
    """Whether what follows a fronted part has a subject of its own: `Since I moved, things have been "
    "quiet`."""
    found = _AFTER_COMMA.search(clause)
    return found is not None and _POINTS.match(found["rest"]) is None


def main_subject(clause: str) -> bool:
    """Whether the statement, past what stands before it, is about the one who speaks.

    >>> main_subject("When I was young, we had a farm"), main_subject("In the city, it rains")
    (True, False)
    """
    if _SUBJECT.match(clause):
        return True
    if not _FRONTED.match(clause):
        return False
    if _UNDER.match(clause):
        return True
    return re.search(rf", (?:{_MINE}|there (?:is|was|were|are)\b)", clause) is not None or (
        re.match(rf"(?:\w+ ){{1,4}}{_MINE}", clause) is not None
        and re.match(
            r"(?:yesterday|today|(?:last|this|next) (?:past )?(?:\w+day|week|month|year|night|morning|"
            r"evening|summer|winter|spring|fall|"
            r"autumn|weekend)|recently|lately|one day|tonight|tomorrow|\w+ (?:years|months|weeks|"
            r"days) ago)\b",
            clause,
            re.IGNORECASE,
        )
        is not None
    )

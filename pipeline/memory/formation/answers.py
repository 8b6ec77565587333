"""Short answers to a question, made statements: `At Siemens now` to `Where do you work?`. Pure."""

import re

from pipeline.memory.languages.english import english_pattern
from pipeline.memory.languages.english_rewrites import NUMBER
from pipeline.memory.languages.personal_facts import is_bare_answer
from pipeline.text.english_nouns import own_noun
from pipeline.text.english_verbs import is_past

MAX_ANSWER_WORDS = 9
_QUESTION = re.compile(r"[^.!?\n]*\?")
_JOINED = re.compile(
    r"^\W*(?:(?:and|so|ok|okay|great|nice|cool|perfect|thanks|good|got it|sure|alright|also|but|just|"
    r"(?:a )?quick question|by the way|before we start|first|one more thing|next|(?:may|can) I ask|"
    r"(?:could|can|would) you (?:please )?tell me|if I may ask|out of curiosity)\b[\s,:!.\u2013\u2014-]*)+",
    re.IGNORECASE,
)
_SHOULD = re.compile(r" (?:that )?(?:I|we) (?:should|need to|have to|must|can) .*$", re.IGNORECASE)
_NOW = (
    r"(?: (?:these days|now|right now|currently|at the moment|by the way|then|at present|usually|again|of your own))*$"
)
_TODAY = re.compile(f"{_NOW}")
_TASK = re.compile(rf"\b(?:{english_pattern('words_of_tasks')})\b", re.IGNORECASE)
"""What asks for something of the moment."""
_HEDGED = re.compile(rf"\?|\b(?:{english_pattern('hedged_answers')})\b", re.IGNORECASE)
_OWN_SENTENCE = re.compile(
    r"^(?:(?:yes|no|yeah|nope)\W+)?(?:I|I'\w+|i'?m|we|(?:my|our)(?= \w+ \w+ )|he|she|they|there|call me|please|can|"
    r"could|what|how|why|used to)\b",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:(?:oh|um+|uh+|well|hm+|still|currently|now|just|only|so far|mostly|it's|its)\b[\s,]*)+", re.IGNORECASE
)
_AFTERTHOUGHT = re.compile(
    r",? (?:\w+ly|for sure|haha|lol|thanks|please|is fine|works|of course|btw|hands down)\W*$", re.IGNORECASE
)
_YES = re.compile(
    r"^(?:yes|yeah|yep|yup|yea|sure|of course|absolutely|definitely)\b[\s,.!\u2013-]*(?:(?:i|we) (?:do|am)\b[\s,.!]*)?",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^(?:no|nope|nah|not (?:at all|really|any ?more))\b(?! (?:\w+s?\W*$|longer|more))[\s,.!\u2013-]*", re.IGNORECASE
)
_PLACED = re.compile(
    r"(?:in|at|on|near|from|by|for|to|with|outside|close to|next to|around|between|just outside)\b", re.IGNORECASE
)
_ANY = re.compile(r"\bany(?:thing|one|body|where)?\b.*$", re.IGNORECASE)
_ANY_OWN = re.compile(
    rf"^(?P<had>(?:do you have|have you got) )?(?:(?:are|is) there )?any (?:food )?(?P<what>[\w -]{{3,24}}?){_NOW}",
    re.IGNORECASE,
)
_OF_YOURS = re.compile(
    r"^(?:(?:(?:what|who|when|where|which|how (?:old|tall|big|long))(?: is|'s| are|'re)|(?:what|how) about) )?your "
    rf"(?P<what>[\w' -]{{2,40}}?){_NOW}",
    re.IGNORECASE,
)
_NAMED = re.compile(r"^(?:what|how) (?:is|are) your (?P<what>[\w -]{2,20}?) (?:called|named)$", re.IGNORECASE)
_KIND = re.compile(
    r"^what (?:kind|sort|type|breed)(?: of \w+)? is (?P<who>(?-i:[A-Z])\w+|your [\w ]{2,20})$", re.IGNORECASE
)
_CALLED = re.compile(
    r"^(?:how|what) (?:should|shall|can|may|do) (?:I|we|people|they|friends) call you\b", re.IGNORECASE
)
_OF_FOOD = re.compile(r"\b(?:allerg|diet|food)", re.IGNORECASE)
"""What somebody is asked for who eats without something, and does not have it: `any dietary needs?`, `no pork`."""
_JOB = re.compile(
    r"^what (?:do you do(?: for (?:a living|work)| professionally)?|is your (?:job|profession|occupation))" + _NOW,
    re.IGNORECASE,
)
_NO_TRADE = re.compile(r"(?:[\w-]+ing\b|in |at |for |self-employed|retired|unemployed|student)", re.IGNORECASE)
_COUNTED = re.compile(rf"^how many (?P<what>[\w -]{{3,24}}?) do you have{_NOW}", re.IGNORECASE)
_OLD = re.compile(rf"^how old are you{_NOW}", re.IGNORECASE)
_WH = re.compile(
    r"^(?P<wh>(?:what|which|how many|how much)(?: [\w-]+){0,4}?|where|when|who|how|how often) "
    rf"(?P<be>do|are|'re|were|did) you(?: (?P<verb>[\w' -]{{2,40}}?))?{_NOW}",
    re.IGNORECASE,
)
_POLAR = re.compile(rf"^(?P<be>do|are|can|have) you (?P<verb>[\w' -]{{3,50}}?){_NOW}", re.IGNORECASE)
_RUN_ON = re.compile(r"(?:,|\.\.+|;) (?:and )?(?=(?:he|she|it|they|[Ii]|we)\b|(?:my|our) \w+ )")
"""Begin of a statement after a short answer: `a beagle, he's nine`, `Tom, and i'm 41`."""
_DISLIKED = re.compile(
    r"^(?:(?:is|are) there )?any(?:thing|one)? ?[\w ]*?(?:that )?you (?P<verb>(?:don't|do not|can't|cannot|won't) \w+|"
    r"dislike|hate|avoid)\b",
    re.IGNORECASE,
)
"""What asks for something that somebody does without: `any fish you don't like?`."""
_SAYS = {"do": ("I", "I don't"), "are": ("I'm", "I'm not"), "can": ("I can", "I can't"), "have": ("I've", "I haven't")}
_SUBJECTS = {"do": "I", "did": "I", "were": "I was", "are": "I'm", "'re": "I'm"}
_NUMBERED = re.compile(rf"(?P<count>{NUMBER})(?=,|$)", re.IGNORECASE)
_SOME = re.compile(rf"(?:an?|one|{NUMBER}|a few|some|my|our) \w", re.IGNORECASE)
_PREPOSITIONS = {"from": "", "work": "at ", "study": "at ", "go": "to "}
"""What stands before a place after these words, where it is not `in`."""


def answered(asked: str, answer: str) -> list[str]:
    """Return what an answer says, as statements in the first person; empty if it says so itself, or for a task.

    `asked`: what was said before; only a single question is understood.

    >>> answered("Where do you work?", "At Siemens now"), answered("Any allergies?", "shellfish")
    (['I work at Siemens now'], ['My allergies: shellfish'])
    """
    questions = _QUESTION.findall(asked)
    if len(questions) != 1 or not asked.rstrip().endswith("?"):
        return []
    plain = questions[0].replace("\u2019", "'").replace("hat's", "hat is").strip(" ?,")
    question = _SHOULD.sub("", _JOINED.sub("", plain))
    said = _LEADING.sub("", answer.strip().rstrip(" .!").replace("\u2019", "'"))
    said, comma, more = said.partition(run_on[0]) if (run_on := _RUN_ON.search(said)) is not None else (said, "", "")
    if comma:
        return [*stated, more] if (stated := answered(asked, said)) else []
    if (
        not said
        or len(said.split()) > MAX_ANSWER_WORDS
        or (_TASK.search(_TODAY.sub("", question)) and not _CALLED.match(question))
        or _OWN_SENTENCE.match(said)
    ):
        return []
    # What is asked of `the trip` or `the log` is about these.
    is_general = "the" not in question.lower().split()
    if is_general and (polar := _POLAR.match(question)) is not None and (stated := _confirmed(polar, said)):
        return stated
    said = _AFTERTHOUGHT.sub("", said.partition(",")[0] if _CALLED.match(question) else said)
    if not said or _HEDGED.search(said) or _YES.match(said):
        return []
    told = _of_own(question, said) or (_of_verb(question, said) if is_general else None)
    return [] if told is None else [told]


def with_question(asked: str, answer: str) -> str:
    """Return an answer that says nothing by itself after the question that it answers; empty for any other.

    >>> with_question("Gut! Wo wohnen Sie?", "in Fulda, seit 30 Jahren.")
    'Wo wohnen Sie? in Fulda, seit 30 Jahren'
    >>> with_question("Wo wohnen Sie?", "ich wohne in Fulda"), with_question("Where is she?", "in Rome")
    ('', '')
    """
    questions = _ANY_QUESTION.findall(asked)
    said = answer.strip(" ,;-").rstrip(".!\u3002 ")
    if len(questions) != 1 or not said or len(said.split()) > _MAX_WORDS_WITH_QUESTION or _ANY_QUESTION.search(answer):
        return ""
    question = questions[0].strip(" -\u2013*_")
    is_none = _OWN_SENTENCE.match(said) or _HEDGED.search(said) or not is_bare_answer(said, asked)
    return "" if is_none or _OF_OTHERS.search(question) else f"{question} {said}"


_ANY_QUESTION = re.compile(r"(?:\u00bf|(?<![^\s.!\u3002\uff01]))[^.!?\u3002\uff01\uff1f\n]*[?\uff1f]")
_MAX_WORDS_WITH_QUESTION = 14
_OF_OTHERS = re.compile(r"\b(?:that|it|they|them|he|him|she|her)\b", re.IGNORECASE)
"""What a question means that an earlier one has named."""


def _confirmed(question: re.Match[str], said: str) -> list[str]:
    """Return what `yes`, `no` or `never` says, and what follows it as a statement of its own."""
    verb, (affirmed, denied) = question["verb"], _SAYS[question["be"].lower()]
    open_end = _ANY.search(verb)
    begun = f"{affirmed} {verb[: open_end.start()] if open_end is not None else verb}"
    if (no := _NO.match(said)) is not None:
        return [f"{denied} {verb}", *filter(None, [said[no.end() :]])]
    if (yes := _YES.match(said)) is not None:
        rest = said[yes.end() :]
        if open_end is None:
            begun = re.sub(r"\byour\b", "my", begun)
            return [f"{begun} {rest}"] if _PLACED.match(rest) else [begun, *filter(None, [rest])]
        return [f"{begun}{rest}"] if rest and not _HEDGED.search(rest) else []
    if affirmed == "I" and said.lower().startswith("never"):
        return [f"I never {verb}"]
    if verb.startswith("have ") and open_end is None and (numbered := _NUMBERED.match(said)) is not None:
        return [f"I have {numbered['count']} {verb.removeprefix('have ')}{said[numbered.end() :]}"]
    is_without = re.match(r"no \w+", said, re.IGNORECASE) and not _OF_FOOD.search(verb)
    if is_without or (verb.startswith("have ") and _SOME.match(said)):
        return [f"I have {said}"]
    is_told = open_end is not None and not _HEDGED.search(said) and not _ANY_OWN.match(question.string)
    return [f"{begun}{said}"] if is_told else []


def _of_own(question: str, said: str) -> str | None:
    """Return what somebody says who was asked for something of theirs: their name, job, age, allergies, pets."""
    if (match := _DISLIKED.match(question)) is not None:
        return f"I {match['verb']} {re.sub('^no ', '', said, flags=re.IGNORECASE)}"
    if (match := _KIND.match(question)) is not None:
        return f"{match['who'].replace('your ', 'my ')} is {said}"
    if _CALLED.match(question):
        return f"Call me {said[:1].upper()}{said[1:]}"
    if (match := _ANY_OWN.match(question)) is not None:
        is_had = match["had"] is not None and not _OF_FOOD.match(match["what"])
        return f"I have {said}" if is_had else f"My {match['what']}: {said}"
    if _JOB.match(question):
        article = "" if re.match(r"an? ", said) else "an " if said[0].lower() in "aeiou" else "a "
        return f"I'm {said}" if _NO_TRADE.match(said) else f"I work as {article}{said}"
    if (match := _NAMED.match(question)) is not None and own_noun(match["what"]) is not None:
        return f"My {match['what']} is called {said[:1].upper()}{said[1:]}"
    if (match := _OF_YOURS.match(question)) is not None and _is_personal(match["what"]):
        return f"My {match['what']}: {said}"
    if _OLD.match(question):
        return f"I'm {said}{' years old' if said.isdigit() else ''}"
    if (match := _COUNTED.match(question)) is not None:
        number, comma, rest = said.partition(",")
        return None if len(number.split()) > 2 else f"I have {number} {match['what']}{comma}{rest}"
    return None


def _of_verb(question: str, said: str) -> str | None:
    """Return what somebody says who was asked where, when, with whom or how they do something, or what."""
    match = _WH.match(question)
    if match is None or (match["wh"].lower() == "how" and not re.match(r"(?:by|on|with) ", said, re.IGNORECASE)):
        return None
    verb, be = match["verb"] or "", match["be"].lower()
    if be == "did":
        verb = verb.replace("grow", "grew", 1)
        if not is_past(verb.partition(" ")[0]):
            return None
    is_bare_place = match["wh"].lower() == "where" and not _PLACED.match(said)
    said = said[:1].lower() + said[1:] if _PLACED.match(said) else said
    place = _PREPOSITIONS.get(verb.rpartition(" ")[2].lower(), "in ") if is_bare_place else ""
    return " ".join(filter(None, (_SUBJECTS[be], verb, f"{place}{said}")))


def _is_personal(noun: str) -> bool:
    """Return whether it is somebody's, and not of what they work on: `dog's name`, `budget for the trip`."""
    owner = re.split(r"'s | (?:for|in|of|at|on) ", noun, maxsplit=1)[0]
    return own_noun(owner) is not None or re.match(r"favou?rite ", noun, re.IGNORECASE) is not None

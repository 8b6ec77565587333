"""Which sentences state a fact, and the fact as a text that stands on its own."""

import re
from dataclasses import dataclass

from pipeline.memory.person import WRITER, is_first_person, resolved
from pipeline.memory.verbs import ADVERBS, BASES, MODALS, is_finite, is_past, words

SHORTEST, LONGEST = 3, 45
"""Words of a fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement. `is_static`: who somebody is, as opposed to what happens."""

    text: str
    is_static: bool


_OPENING = re.compile(
    r"^(?:(?:hi|hey|hello|wow|yeah|yep|yes|yup|no|nope|oh|ah|aww?|ok|okay|well|so|sure|thanks|thank you|thx|"
    r"cool|nice|great|"
    r"awesome|haha|lol|omg|btw|by the way|anyway|actually|honestly|also|and|but|plus|fyi|for your "
    r"information|"
    r"absolutely|definitely|exactly|totally|sounds good|congrats|please note that|note that|note:|remember "
    r"that|"
    r"just so you know|in fact|of course|right now|these days|currently|recently|lately|unfortunately|"
    r"luckily|good morning)"
    r"(?:[,!.:\s-]+|$)(?:(?:[A-Z]\w+)(?=[!,])[!,]\s*)?)+",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://|www\.|\S+\(\)|[{}<>=;|\\]|\w+\.\w+\.\w+\(|::")
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|could|would|should|(?-i:may)|seems?|supposedly|i think|i "
    r"guess|"
    r"i suppose|i wish|"
    r"i hope|i wonder|i doubt|i'd|not sure|kind of|sort of|if|unless|imagine|suppose|as if|i bet|i'm "
    r"guessing|what if|"
    r"i believe|hopefully|apparently|rumou?r)\b",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"^(?:I|I'm|I am|I'll|I've|I can|I can't)\b(?: (?:am|so|really|just|also|totally|always|always be|have|"
    r"be|very|truly|"
    r"super|too|still|completely))* ?"
    r"(?:glad|happy to hear|happy for|sorry|proud of|excited for|agree|see|know|mean|hear|bet|get it|"
    r"understand|feel|"
    r"can't wait|can imagine|imagine|appreciate|thank|wait|here for|let|tell|say|promise|swear|assure|"
    r"remember|forgot|"
    r"curious|wondering|grateful|thankful|thinking of|rooting|always here|look forward|looking forward|"
    r"stoked|thrilled|"
    r"pumped|honou?red|blessed|keep|check|believe|lucky|fine|good|okay|ok|well|great|all ears|impressed|"
    r"amazed|"
    r"right there with|with you|there with)\b",
    re.IGNORECASE,
)
_YOU = re.compile(r"\b(?:you|your|yours|you're|you've|you'll|you'd|yourself|ya|u)\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"^(?:what|who|whom|whose|which|where|when|why|how|do|does|did|is|are|am|was|were|can|could|will|would|"
    r"should|have|has|"
    r"had|shall|may|isn't|aren't|don't|doesn't|didn't|won't|ain't|any)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"^(?:it|it's|its|he|he's|she|she's|they|they're|they've|them|his|her|their|this|that|that's|these|"
    r"those|there|there's|"
    r"here|here's|one|some|someone|something|anything|everything|everyone|nothing|nobody|such|same|another|"
    r"both|"
    r"being|having|all|as|because|since|while|although|though|when|after|before|until|once|then|instead|"
    r"however|therefore|"
    r"thus|hence|for example|otherwise|not|now|maybe|sounds|glad|happy|sorry|hope|hoping|love|loving|can't|"
    r"just|"
    r"got|gonna|been|wish|too|to|with|without|for|from|by|at|on|in|let's|let|welcome|congratulations|best|"
    r"good|so)\b",
    re.IGNORECASE,
)
_IMPERATIVE = words(
    "show check take make try remember see use click run note please give tell keep add set open close "
    "install create copy "
    "paste go get put send call write read look find choose select press enter start stop avoid consider "
    "ensure follow "
    "never always stay enjoy have feel don't do be come visit contact ask save download upload provide "
    "specify define "
    "return import pass update delete remove configure build test replace turn wait trust hang hold listen "
    "watch"
)
_STATIC = re.compile(
    r"\b(?:is|isn't|is not) (?:an? |the |not )?(?:\w+ ){0,3}(?:years old|vegetarian|vegan|allergic|married|"
    r"single|divorced|"
    r"engaged|from|born|based|left-handed|right-handed|fluent|called|named|intolerant|diabetic|retired|"
    r"religious|"
    r"\w*(?:er|or|ist|ian|ant|ent|nurse|chef|man|woman|dad|mom|mother|father|parent|student|engineer|pilot|"
    r"artist|coach))\b"
    r"|\b(?:lives?|works?|speaks?|likes?|loves?|enjoys?|prefers?|hates?|dislikes?|owns?|belongs?|studies|"
    r"teaches|plays|"
    r"collects|drives|never eats|doesn't (?:like|eat|drink|speak|live|work|own|have|drive)|can't (?:eat|"
    r"stand)|supports?)\b"
    r"|\b(?:favou?rite|name is|birthday|e-?mail|phone|address|hometown|nationality|native language|was "
    r"born|grew up|"
    r"(?:has|have) (?:an? |two |three |four |five |\d+ )?(?:\w+ ){0,2}(?:kids?|child|children|sons?|"
    r"daughters?|brothers?|sisters?|"
    r"siblings?|dogs?|cats?|pets?|twins|degree|allergy|phd|wife|husband|partner|girlfriend|boyfriend))\b",
    re.IGNORECASE,
)
_RELATIVE = (
    r"(?:wife|husband|partner|girlfriend|boyfriend|mother|mom|mum|father|dad|brother|sister|son|daughter|"
    r"boss|dog|cat|name)"
)
_FAMILY = re.compile(rf"'s {_RELATIVE}(?:'s name)? is\b", re.IGNORECASE)
_DYNAMIC = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|this (?:morning|afternoon|evening|week|weekend|month|year|"
    r"summer|winter)|"
    r"last (?:night|week|weekend|month|year|summer|winter|\w+day)|next (?:week|month|year|weekend|\w+day)|"
    r"recently|ago|"
    r"used to|right now|at the moment|currently|lately|just|will|going to|plans?|planning|working on|"
    r"trying|about to|soon)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?:,? (?:and|but) (?:also |now )?|; |, )(?=(?:I|I'm|I've|I'll|my|My)\b)|(?:,)? (?:and|but) "
    r"(?=(?:also )?(\w+) )"
)
_MOOD = re.compile(
    r"^I(?:'m| am| was| felt| feel)(?: (?:so|really|super|very|totally|pretty|just|too|quite|always))* "
    r"(?:excited|happy|thrilled|proud|sad|nervous|relieved|surprised|inspired|moved|touched|scared|amazed|"
    r"busy|tired|"
    r"blown away|overwhelmed)$"
)
_DANGLING = re.compile(
    r"\b(?:it|this|that|them|those|these)(?: (?:all|again|too|out|up|so|well|a lot|much))*$", re.IGNORECASE
)
_CALLED = re.compile(r"^(?:[A-Z]\w+,? (?:that|this|it|what)(?:'s|\b)|[A-Z]\w+, (?!who\b|which\b))")
_SPECIFIC = re.compile(r"^We\b|^[Oo]ur\b|\d|(?<=[a-z,'] )[A-Z][a-z]+|^The [\w ]+ (?:of|for|is now|was) ")
_WORDS = re.compile(r"[\w'\u2019-]+")


def facts(sentence: str, speaker: str | None, *, chat: bool = False) -> list[Fact]:
    """The facts of a sentence, each a text of its own; none for questions, greetings, hedges and fragments.

    >>> [fact.text for fact in facts("I live in Berlin and work at Acme.", None)]
    ['User lives in Berlin', 'User works at Acme']
    """
    plain = _OPENING.sub("", sentence).strip(" \t*_\"\u201c\u201d'")
    if plain.endswith(("?", ":")) or _ADDRESS.search(plain) or _HEDGE.search(plain):
        return []
    if chat and _YOU.search(plain):
        return []
    if chat and not is_first_person(plain) and not _SPECIFIC.search(plain):
        return []
    found = (_fact(clause, speaker) for clause in _clauses(plain))
    return [fact for fact in found if fact is not None]


def _clauses(text: str) -> list[str]:
    """`I live in Berlin and work at Acme` as two statements, where both surely have the same subject."""
    if not re.match(r"I\b|[Mm]y\b", text):
        return [text]
    clauses: list[str] = []
    begin = 0
    for match in _CLAUSE.finditer(text):
        verb = match[1]
        head = text[begin : match.start()]
        if verb is not None and (not _continues(verb, head) or not re.match(r"I\b", head)):
            continue
        clauses.append(head)
        begin = match.end()
        if verb is not None:
            rest = text[begin:]
            text = f"I {rest}"
            return clauses + _clauses(text)
    return [*clauses, text[begin:]]


def _continues(verb: str, head: str) -> bool:
    """Whether a verb after `and` belongs to the `I` before it: finite, and nothing else to hang on."""
    if re.search(r"\b(?:to|will|can|can't|don't|didn't|could|\w+ing)\b", head):
        return False
    first = re.match(r"I(?:'ve| have| had)?\s+(?:\w+ly\s+)?([\w']+)", head)
    if first is None or len(head.split()) < SHORTEST:
        return False
    if verb in BASES and not is_past(verb):
        return not is_past(first[1].lower()) and not head.startswith(("I've", "I'm"))
    return is_past(verb) and is_past(first[1].lower()) and not head.startswith(("I've", "I have"))


def _fact(clause: str, speaker: str | None) -> Fact | None:
    clause = clause.strip(" ,;\u2013-\u2014.!\u2026\"\u201d'")
    spoken = _WORDS.findall(clause)
    if (
        not SHORTEST <= len(spoken) <= LONGEST
        or _CHATTER.match(clause)
        or _MOOD.match(clause)
        or _DANGLING.search(clause)
    ):
        return None
    if not _states(clause, spoken):
        return None
    text = resolved(clause, speaker)
    text = text[:1].upper() + text[1:]
    return Fact(text, is_static(text))


def _states(clause: str, spoken: list[str]) -> bool:
    first = spoken[0].lower()
    if re.match(r"I(?:'m|'ve|'ll)?\b", clause):
        return _has_verb_after_i(spoken)
    if first == "my" or re.match(r"We\b", clause):
        return any(_finite(word) for word in spoken[1:])
    if _CALLED.match(clause) or _POINTING.match(clause) or _QUESTION.match(clause) or _YOU.match(clause):
        return False
    if first in _IMPERATIVE or not (clause[0].isupper() or clause[0].isdigit()):
        return False
    if is_first_person(clause):
        return False
    return any(_finite(word) for word in spoken[1:8])


def _finite(word: str) -> bool:
    return is_finite(word.lower()) or word.endswith(("'s", "'re"))


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


def is_static(text: str) -> bool:
    """Identity, preference, residence, work and family of a person; not plans, events and recent activity."""
    about_person = (
        text.startswith(WRITER) or re.match(r"[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){0,2}\s", text) is not None
    )
    if not about_person or text.startswith(("The ", "A ", "An ", "We ", "Our ")) or _DYNAMIC.search(text):
        return False
    return _STATIC.search(text) is not None or _FAMILY.search(text) is not None

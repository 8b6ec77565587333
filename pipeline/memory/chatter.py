"""What is said and states nothing: questions, hedges, courtesies, moods, orders, encouragement."""

import re

from pipeline.memory.verbs import words

_ADDRESS = re.compile(r"https?://|www\.|\S+\(\)|[{}<>=|\\]|\w+\.\w+\.\w+\(|::")
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|might|(?-i:may)|seems?|seemed|supposedly|i think|i guess|i "
    r"suppose|i wish|"
    r"i wonder|i doubt|i'd say|not sure|kind of|sort of|kinda|sorta|if|unless|imagine|suppose|i bet|i'm "
    r"guessing|"
    r"i believe (?!in\b)|hopefully|apparently|rumou?r|would(?! (?:love|like|prefer|rather)\b)|should|"
    r"could(?!n't)|"
    r"wouldn't|shouldn't|i hope (?!to\b)|hope (?:it|that|this|the|they|things|we)|i'd (?!(?:love|like|"
    r"prefer|rather|been|had)\b))",
    re.IGNORECASE,
)
_I = r"(?:I|I'm|I am|I'll|I've|I have|I can|I can't|I'd|We|We're|We'll|We've|We can)"
_ADVERB = (
    r"(?: (?:am|so|really|just|also|totally|always|have|be|been|very|truly|super|too|still|"
    r"completely|definitely|"
    r"absolutely|only|even|all|never|do|will|can|gonna|going to|must|quite|pretty))*"
)
_COURTESY = re.compile(
    rf"^{_I}\b{_ADVERB} ?(?:"
    r"(?:glad|sorry|happy to hear|happy for|agree|mean|bet|get (?:it|that)|imagine|appreciate|thank|"
    r"promise|swear|assure|curious|"
    r"wondering|rooting|here for|in awe|all ears|impressed|honou?red|sure (?!about)|figured?|guess|jealous|"
    r"right there|there with|with you|on it|getting there|"
    r"stoked to|thrilled to|wait|wait to|hear|heard that|see that|see what|see how|see why|know how|know "
    r"what|know that|know it|know right|"
    r"understand|let|tell|say|keep (?:in mind|in touch|it up|at it|going|pushing|moving|trying|fighting|"
    r"believing|up)|"
    r"check|look(?:ing)? forward|counting on|here|off to|heading (?:off|out)|gotta (?:go|run)|got to go|go "
    r"now|hit me up|"
    r"catch up|talk (?:to|soon|later)|be sure|do (?:it|this|that)|make it|got this|get through|forget|"
    r"send|share (?:it|them|that|more)|give (?:it|up)|giving up|miss out|worry|hang|cross|"
    r"love (?:how|that|what|when|the way|it|this|those|these)|like (?:how|that|what|the way|it|this|those|"
    r"these)))\b",
    re.IGNORECASE,
)
_CHEER = re.compile(
    r"\b(?:keep (?:pushing|going|moving|trying|fighting|believing|on|it up|at it)|giv(?:e|ing) up|never "
    r"quit|won't quit|believe in (?:my|our)self|"
    r"believing in (?:my|our)sel\w+|make (?:it|this|that) happen|hang in there|stay (?:positive|strong|"
    r"focused|true)|do(?:ing)? (?:my|our) best|"
    r"dreams? come true|the best is yet|count on me|means? (?:a lot|so much|the world)|here for you|got "
    r"(?:my|your) back|"
    r"can't wait to (?:see|hear|show|tell|find out|catch up)|no matter what|push(?:ing)? (?:forward|through)|"
    r"^we(?:'ll| can| all| will|'ve got| got| have got)\b.*\b(?:together|anything|difference|this|attitude)|"
    r"(?:have|got) to (?:say|admit|tell|confess)\b|at the end of the day|fingers crossed|that's for sure|"
    r"keep (?:me|you) posted|let (?:me|you) know)\b",
    re.IGNORECASE,
)
_MOOD = re.compile(
    r"^(?:I|We)(?:'m|'re| am| are| was| were| felt| feel|'ve been| have been|'m feeling| am feeling)?"
    r"(?: (?:so|really|super|very|totally|pretty|just|too|quite|always|a bit|a little|feeling|feel|doing|"
    r"been|all|definitely|still))* "
    r"(?:excited|happy|thrilled|proud|sad|nervous|relieved|surprised|inspired|moved|touched|scared|amazed|"
    r"busy|tired|"
    r"blown away|overwhelmed|fine|good|great|ok|okay|well|ready|lucky|blessed|grateful|thankful|glad|"
    r"stoked|pumped|"
    r"better|awful|bad|down|awesome|amazing|alright|there|here|sure|in|fulfilled|liberated|empowered|"
    r"accomplished|"
    r"free|motivated|determined|hopeful|stuck|lost|confused|curious|fortunate|honou?red)"
    r"(?: too| as well| now| today| about (?:it|that|this|everything)| for "
    r"(?:it|that|this)| with (?:it|that|this)"
    r"| of (?:it|that|this)| to be here| by (?:it|that|this)| doing (?:it|that|this))*(?: (?:and|but|yet|"
    r"or) [\w ]+)?$",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"\b(?:it|this|that|them|those|these|so|the same|the same way|to|yet)(?: (?:all|again|too|out|"
    r"up|so|well|a lot|much|now|soon|together|anyway|today))*$|"
    r"\b(?:the|another|this|that|which|got|have|had|is|was) ones?$|\b(?:is|am|are|was|were|do|does|did|"
    r"have|has|can)$|"
    r"^I shared (?:an?|the|some|this|it|one) ?(?:\w+ )?(?:pics?|photos?|pictures?|snaps?|shots?|images?|"
    r"selfies?|videos?)?$|"
    r"^last time\b|"
    r"^(?:I|We)(?:'ve|'m|'ll| have| can| will| am| are|'re)?(?: (?:really|just|also|still|always|never|"
    r"even|totally|definitely|only|all|both))* "
    r"(?!is |was )\w+ (?:(?:it|them)\b|(?:this|that)\b(?! \w+))(?! \w+ (?:I|we|was|is|are)\b)|"
    r"^(?:I|We)(?:'ve| have)? (?:had|have|felt|feel|did|do) (?:a similar|the same|similar)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_YOU_WORDS = words("you your yours yourself yourselves ya u ur")
_YOU = re.compile(
    r"\b(?:you|your|yours|you're|you've|you'll|you'd|yourself|yourselves|ya|y'all|u|ur)\b", re.IGNORECASE
)
_QUESTION = re.compile(
    r"^(?:what|who|whom|whose|which|where|why|how|do|does|did|is|are|am|was|were|can|could|will|would|"
    r"should|have|has|had|shall|may|isn't|aren't|don't|doesn't|didn't|won't|ain't|any)\b",
    re.IGNORECASE,
)
_IMPERATIVE = words(
    "show check take make try remember see use click run note please give tell keep add set open close "
    "install create copy paste go get put send call write read look find choose select press enter start "
    "stop avoid consider "
    "ensure follow never always stay enjoy have feel don't do be come visit contact ask save download "
    "upload provide "
    "specify define return import pass update delete remove configure build test replace turn wait trust "
    "hang hold listen "
    "watch let let's thank thanks love hope wish count believe"
)


def is_unsayable(text: str) -> bool:
    """Whether a sentence is a question, a heading, or no prose: none of its clauses states anything."""
    return text.endswith(("?", ":")) or _ADDRESS.search(text) is not None


def is_hedged(clause: str) -> bool:
    """Whether what is said is only thought possible."""
    return _HEDGE.search(clause) is not None


def is_addressed(clause: str) -> bool:
    """Whether it speaks to somebody."""
    if not clause.isascii():
        return _YOU.search(clause) is not None
    folded = clause.lower()
    return not _YOU_WORDS.isdisjoint(_WORD.findall(folded)) or (
        "y'all" in folded and _YOU.search(clause) is not None
    )


def is_chatter(clause: str) -> bool:
    """Courtesies, moods, encouragement, and what points at something that was said before."""
    return any(pattern.search(clause) for pattern in (_COURTESY, _CHEER, _MOOD, _DANGLING))


def is_question(clause: str) -> bool:
    """Whether it begins as a question does."""
    return _QUESTION.match(clause) is not None


def is_order(first: str) -> bool:
    """Whether a first word (lower case) tells somebody to do something."""
    return first in _IMPERATIVE

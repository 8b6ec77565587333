"""Outlines of short statements: whom and what they are about, what they say is over, and what has changed. Pure.

For what no attribute pattern has understood. It reads words instead of a grammar of whole sentences, so it is known
only roughly what is said; `replacement` decides what may follow from that.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise

from pipeline.memory.attributes.value_normalization import NUMBERS
from pipeline.memory.languages.english import english_pattern, english_words, kinds_of_one, state_changes
from pipeline.memory.languages.profiles import detect_language, is_doubtful, words_of_all
from pipeline.text.analyzer import content_words, terms, words
from pipeline.text.english_nouns import RELATIVES
from pipeline.text.english_verbs import BASES, is_finite, is_past, word_set
from pipeline.text.statement_words import (
    adds_to_others,
    has_change_word,
    relative_in_subject,
    says_time,
    told_relations,
    weekdays,
)
from pipeline.text.succession import ADDED, PASSING, PAST, WISHED
from pipeline.text.temporal_expressions import MONTHS

CACHED_TEXTS = 4096
_STEM_CHARS = 7
"""Letters of a stem, so that `therapy` is what a `therapist` gives."""
USER = "user"
BE, HAVE = "be", "have"
_ROLE = "a role"
"""Stands for the holders of a role, who change."""
_TOKEN = re.compile(r"[\w%$\u20ac\u00a3][\w.:'\u2019%+-]*|[,;()]|[!?]")
_FOREIGN = re.compile(r"^(?P<speaker>[A-Z][\w .'-]{0,40}): (?P<said>.+)$", re.DOTALL)
_FOREIGN_NAME = re.compile(r"\b\w{3,}")
_HANGUL = re.compile("[\uac00-\ud7af]")
_UNSPACED = re.compile("[\u4e00-\u9fff]+|[\u30a0-\u30ff]+")
"""Runs of ideographs or of letters for foreign words, which say what a Chinese or Japanese text is about."""
_SINGLE = re.compile("(?<![\u4e00-\u9fff])(?![\u79c1\u50d5\u4ffa])[\u4e00-\u9fff](?=[\u306f\u304c\u3092\u3082])")
"""An ideograph that is a noun by itself, and not `I`: `\u732b\u3092`."""
_COMPOUND = re.compile("[\u4e00-\u9fff\u30a0-\u30ff]+(?=[\u306f\u304c\u3092\u3082\u306e])")
"""A Japanese noun before a particle, whose last letters say what it is: not Yokohama, but its marathon."""
_IDEOGRAPHS = "\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341"
"""One to ten."""
_COUNTED = re.compile(
    f"([{_IDEOGRAPHS}])"
    "[\u5339\u4eba\u53f0\u500b\u672c\u679a\u518a\u56de\u6b73\u624d\u968e\u53ea\u4e2a\u53e3\u8f86\u5c81\u697c]"
)
"""An ideograph for a number before one that counts animals, people, things, years or floors: `\u4e8c\u5339`."""

_LONG_FIGURE = re.compile(r"\d[\d .:/-]*\d|\d")
_STOP = english_words("empty_in_outlines")
_AUX = english_words("auxiliaries")
_ADVERBS = english_words("adverbs_before_verbs")
_PREPOSITIONS = english_words("phrase_ends")
_OF_A_KIND = english_words("nouns_of_a_kind")
_TITLES = word_set("mr mrs ms dr aunt uncle")
_DETERMINERS = word_set("the a an my their our his her its this that some any")
_STRONG_END = english_pattern("strong_ends")
_WEAK_END = english_pattern("weak_ends")
_PARTED = (
    r"(?:(?:gave|sent|brought|handed|passed|left) (?P<given>(?:[\w'-]+ ){1,4}?)(?:back|up|away|down to|on to|behind)|"
    r"(?:threw|cut|chopped|took|got|had) (?P<off>(?:[\w'-]+ ){1,4}?)(?:off|away|removed|taken out)|traded "
    r"(?P<traded>(?:[\w'-]+ ){1,4}?)in|(?:put|laid) (?P<put>(?:[\w'-]+ ){1,3}?)(?:down|to sleep|to rest|on hold|on ice|"
    r"aside)|let (?P<let>(?:[\w'-]+ ){1,4}?)(?:go|lapse|expire|run out)|threw (?P<thrown>(?:[\w'-]+ ){1,4}?)out)\b"
)
_SUBJECT_END = (
    r"(?:(?:has|have|is|are|was|were|been|got|just|now|finally|sadly|all) )*"
    rf"(?:(?:{english_pattern('subject_ends')})\b(?! (?:up|with|to|for(?! good)|at|early|work|home|on)\b)"
    r"|(?:over|off|finished|history|done)(?=$| (?:for good|now|since)\b))"
)
_ENDED = re.compile(
    rf"\b{_PARTED}|\b(?:(?P<strong>{_STRONG_END})|(?P<weak>{_WEAK_END})) (?P<object>[^,;.!?()]+)", re.IGNORECASE
)
_SUBJECT_ENDED = re.compile(
    rf"^(?P<subject>(?:(?!(?:had|has|have|is|was|are|to|not|never|almost)\b)[\w'-]+ ){{1,5}}?)(?<!n't ){_SUBJECT_END}",
    re.IGNORECASE,
)
_NOT_LATELY = re.compile(r"n't [^,;]*\b(?:since\b|(?:in|for) (?:\w+ )?(?:weeks|months|years|ages)\b)", re.IGNORECASE)
"""What ended a while ago: `hasn't read a book in months`."""
_HOME_OF = re.compile(r"\b(?P<owner>[\w-]+?)(?:'s|s') (?:place|house|flat|home|apartment)\b", re.IGNORECASE)
_PRESENT = (
    r"this (?:term|season|semester)|(?<!for )now|since(?! (?:19|20)\d\d)|any ?more|(?:no|any) longer|instead|"
    r"from now on|these days|nowadays|lately"
)
_NOW = re.compile(rf"\b(?:{_PRESENT})\b", re.IGNORECASE)
_FROM_A_DAY = r"(?:from|starting|as of) (?:next |this )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|week|month|term)"
_CHANGED = re.compile(rf"\b(?:{_PRESENT}|{_FROM_A_DAY}|{english_pattern('changed_words')})\b", re.IGNORECASE)
_CORRECTED = re.compile(
    r"\b(?:is|are|am) (?:(?!not\b)[\w$\u20ac\u00a3.:'-]+ ?){1,5},? not (?:on |at |in |by |the |an? )?"
    r"(?:\d|(?-i:[A-Z])|(?:mon|tues|wednes|thurs|fri|satur|sun)day)",
    re.IGNORECASE,
)
"""What is said to be so, and not as it was said: `is 3k not 4k`, `is on Friday, not Monday`."""
_MOVES = re.compile(
    r"\b(?:switched|changed|moved|migrated|upgraded|raised|upped|lowered|cut|bumped|increased|reduced|renamed|"
    r"postponed|rescheduled|pushed|dyed|extended|swapped|transferred|rewrote|rebuilt|converted|put up|chopped|shaved|"
    r"trimmed|revised) (?:the |their |his |her |our |its )?(?P<object>[^,;.!?()]+)",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:wants?|would like|hopes?|plans?|planning|hoping|(?:going|about|trying)(?= to\b)|looking at(?= an? )|"
    r"thinking (?:of|about)|saving (?:up )?for|on (?:the|a) waiting list for|looking for|searching for|waiting for|"
    r"applying (?:to|for))\b(?! to (?!(?:get|buy|adopt|find|apply|book|visit|join|have|take|rent|see|own|order)\b))",
    re.IGNORECASE,
)
_OBTAINED = re.compile(
    r"\b(?:bought|adopted|got(?: into| accepted (?:at|by|to))?|found|booked|joined|purchased|received|visited|ordered|"
    r"(?:was|were|been) (?:given|assigned|allocated|handed)) "
    r"(?P<object>[^,;.!?()]+)",
    re.IGNORECASE,
)
_BEGUN = re.compile(
    r"\b(?:started|began|took up|picked up|gone back to|went back to|learn(?:ed|t)(?: how)? to|can now) "
    r"(?P<object>[^,;.!?()]+)",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|no|never|without|no longer|\w+n't)\b", re.IGNORECASE)
_UNREAL = re.compile(
    rf"\b(?:{WISHED}|may|thinking|thought|thinks?|wants?|plans?|(?<=is )planning|planning (?:to|on)|considering|"
    r"about to|(?<!not )going to (?-i:[a-z])|applying|asked?|offers?|offered|tried|trying|heard|says?|said|told|almost|"
    r"nearly|looks?|looked|(?<!n't )(?<!not )(?<!longer )needs?|prefers? not|how|what|whether|will)\b|'d\b|\?",
    re.IGNORECASE,
)
_DONE = {
    "quit": "quit", "cut": "cut", "put": "put", "let": "let", "sell": "sold", "give": "gave", "leave": "left",
    "stop": "stopped", "drop": "dropped", "break": "broke", "throw": "threw", "take": "took", "scrap": "scrapped",
}  # fmt: skip
_HAD_TO = re.compile(
    rf"\b(?:had|managed) to (?P<verb>{'|'.join(_DONE)}|push|move|change|switch|postpone|reschedule|cancel|delay|close|"
    r"return|lower|raise|replace|rename|abandon|end|delete|ditch)\b"
)
_DOSE_UNITS = word_set("mg mcg \u00b5g ug ml iu ie \u043c\u0433 \u043c\u043a\u0433 \u043c\u043b")
_MONTHS = "|".join(MONTHS)
_DATE = re.compile(
    rf" (?:(?:on|in|since|until|by|around) )?(?:the night of )?(?:\d{{1,2}} )?(?:{_MONTHS})\b(?: \d{{4}})?(?:/\S+)?"
)
"""A day in a memory, which is no part of what changes."""
_PRESENT_YEAR = re.compile(r"^((?:User|[A-Z][\w-]+)(?:'s [\w-]+)? (?:is|are|has|lives|works|studies)\b.*) in 20\d\d$")
"""What `this year` became in a memory: `is in halls in 2026`."""
_ONE_DAY = re.compile(
    r"\b(?:is|are|starts?|begins?|ends?|opens?|closes?|works?|leaves?|comes?|takes?) (?!(?:now|not|off|\w+ed)\b).*"
    rf"\bon (?:the (?:morning|evening|afternoon) of )?\d{{1,2}} (?:{_MONTHS})\b"
    r"(?!.*\b(?:now|since|instead|anymore|longer)\b)"
)
"""What is so on one day only: `is at 10 on 21 November`."""
_ALONG = re.compile(r", [\w' ]{2,24} too$")
"""Who or what comes along: `moved in with my sister, biscuit too`."""
_LIVES = re.compile(
    r"\b(?:went|came|gone) back to (?:the )?[A-Z]|"
    r"\b(?:lives?|living|based|residing|settled|moved|relocated|emigrated) (?:back |over |out |down |up )?"
    r"(?:in|to|near) (?:the )?[A-Z]|\bmoved in(?:to)? [^,;.]{2,40}? in (?:the )?[A-Z]"
)
_SETTLED = re.compile(
    rf"\b(?:has|have) been (?:living |based )?in (?:the )?[A-Z][\w ]{{1,30}} (?:since|for)\b"
    rf"(?: (?:{_MONTHS}|(?:19|20)\d\d|\w+ (?:months|years)))"
)
"""A home since a month or a year: `has been in Bruges since March`."""
_SINCE_DAY = re.compile(rf"\bsince \d{{1,2}} (?:{_MONTHS})\b")
_JOB = re.compile(
    r"\b(?:works?|working|employed|interning|freelancing) (?:\w+ )?(?:at|for|as|with|in)\b|\bteaches\b|"
    r"\bis an? (?:[\w-]+ ){0,3}?(?!(?:mother|father|brother|sister|daughter|member|\w*smoker|runner|lover|owner|"
    r"believer|drinker|beginner|player|swimmer|eater|riser|sleeper|survivor|vegetarian|christian|parent|student|resident|"
    r"reader|gamer|hiker|winner|patient|person|adolescent|pescatarian|woman|man|number|dinner|letter|computer)\b)"
    r"(?:\w{2,}(?:er|or|ist|ian|man|woman|ant|ent)|clerk|cook|chef|nurse|barista|paralegal|intern|apprentice|trainee|"
    r"temp|guard|judge|vet|mechanic|midwife|pilot|cashier)(?= (?:at|for|with|in|by|of) |$|,)"
)
"""What somebody works as, or where."""
_NEW_JOB = re.compile(
    r"\b(?:started (?:at|with|work\w* (?:at|for|as)|as an?)|(?:got|landed|found|took|accepted|started|starts|starting|"
    r"signed) (?:a|an|the|their|this) (?:[\w-]+ ){0,3}?(?:job|position|role|apprenticeship|traineeship|gig|post|"
    r"placement|internship)|(?:got|was|been) hired|starting (?:as|at) |now works?|works? (?:[\w-]+ ){1,5}now|"
    r"retrained as|went freelance|(?:switched|moved|transferred|changed) to (?:an? |the )?[\w ]*\b(?:team|department|"
    r"desk|ward|branch|company|firm|agency|charity|school|hospital|nursing|teaching|engineering)|"
    r"(?:opened|set up|started) (?:their|a) (?:own )?(?:shop|cafe|bakery|studio|practice|salon|restaurant|business))\b"
)
"""A job that begins."""
_DWELLS = re.compile(
    r"\b(?:lives|living|stays|staying|rents|renting) (?:at |in |with |alone\b|on (?:their|his|her) own\b|an? |the )"
)
_MOVED_IN = re.compile(
    r"\bmoved (?:back )?(?:in|into|out)\b(?! (?:another|the next) (?:table|room|seat|chair))|"
    r"\b(?:bought|got|found|rented|moved(?: back)? to) (?:[\w'-]+ ){0,3}?(?:house|flat|apartment|studio|home|place|"
    r"cottage|bungalow|village|city|town|country|countryside|coast|floor)\b(?! (?:for|to))"
)
"""Another home, wherever it is."""
_PLACE = re.compile(
    r"^(?P<where>by|in|on|at|next to|near|under|behind|opposite) (?:the |a |an |User's )?(?P<what>[a-z][\w-]*)$"
)
"""Where a thing is: `by the window`."""
_PARTNER = re.compile(
    r"\b(?:boyfriend|girlfriend|partner|fianc\w+|husband|wife)(?: is|'s)? (?:now |called |named )*((?-i:[A-Z])[\w-]+)|"
    r"^User (?:is|has been|started|'s) (?:now )?(?:dating|seeing|with|going out with|engaged to|married to) "
    r"((?-i:[A-Z])[\w-]+)",
    re.IGNORECASE,
)
"""With whom somebody is together: `User is with Theo these days`."""
_BODY = re.compile(
    r"^[\w-]+(?:'s [\w-]+)? (?:is|weighs) (?:now )?"
    r"(?:\d'\d{1,2}|\d[\d.]* ?(?:cm|m|kgs?|kilos?|lbs?|pounds|stone))(?: (?:tall|now))*$"
)
"""How tall or heavy somebody is: `is 5'9`, `is 82 kilos now`."""
_GOING_ON = re.compile(r"\b(?:is|are) (?:\w+ )?\w+ing\b")
_TOGETHER = re.compile(
    r"^(?:User and (?P<after>[A-Z][\w-]+)|(?P<before>[A-Z][\w-]+) and User) (?P<rest>.+)$", re.DOTALL
)
_FOR_GOOD = re.compile(r"\b(?:for good|forever|permanently)\b")
_RESERVED = word_set("trip flight visit contract job subscription account membership appointment class lesson")
"""Nouns of what is over with all that is said of it: `the trip to Crete`."""
_NAMED = re.compile(r"(?:(?:an?|some) (?:[a-z]+ ){1,3}(?:called|named) )?(?:(?:called|named|now) )*[A-Z]")
_OTHER = re.compile(r"\bother\b")
_NAMING = re.compile(
    r"^(?P<whose>[A-Z][\w-]*(?:'s [\w-]+(?: [\w-]+)?){1,2})(?:'s name is|'s (?:called|named)| is (?:called|named))\b"
)
"""Forms in which somebody is named; they all say that `User's boyfriend is Liam`."""
_OF_USER = re.compile(r"^(?!User)[A-Z][\w.-]+(?: [A-Z][\w.-]+)* is (?:now )?User's (?:[\w-]+ )*(?P<role>[a-z-]+)$")
_FRONTED = re.compile(r"^(?:Since|After|As of|From|Before|With|At|In|On) [^,]{2,40}?,? (?=User\b)")
_ROLES = word_set(
    "boss manager supervisor nanny cleaner childminder babysitter au-pair doctor dentist gp therapist counsellor coach "
    "trainer tutor teacher flatmate roommate housemate lodger tenant landlord landlady neighbour neighbor assistant "
    "accountant lawyer designer captain director editor keeper singer drummer"
)
_GONE = re.compile(rf"\b(?:{english_pattern('gone_words')})\b")
_FURTHER = re.compile(
    r"\b(?:second|other|spare|backup|rental|hire|loaner|courtesy|company)\b(?! hand)|\b(?<!to )work (?:phone|laptop|"
    r"computer|machine|car|van|mac\w*|iphone)\b|\bfor (?:(?:their|his|her|User's) (?!own|self)\w+|(?:the "
    rf")?(?:{'|'.join(sorted(RELATIVES))})\b|[A-Z])|\b(?:to visit|as a (?:gift|present))\b"
)
"""What names a further thing of a kind, or one for somebody else."""
_TO_COME = rf"(?:the )?(?:\w+ of )?(?:\d{{1,2}} )?(?:{_MONTHS}|spring|summer|autumn|fall|winter"
_PLANNED = re.compile(
    r"\b(?:is|are) (?:\w+ )?(?:starting|beginning|joining|moving|switching|changing|leaving|becoming|retiring|going|"
    r"transferring|getting(?! married)|quitting|taking over|relocating|stopping|closing|ending|coming)\b.* (?:(?:in|"
    rf"from|on|as of|by|next|until|at the end of) {_TO_COME}|week|month|year|term|\w+day)|tomorrow|soon)\b|"
    r"\b(?:start(?:s|ing)?|go(?:es)? (?:up|down)|moves?|changes?|switch(?:es)?)\b.* (?:in|on|from|as of) "
    rf"{_TO_COME})\b|\b(?:works?|lives?|is|are|costs?|pays?|earns?|studies)\b(?! (?:now|been|from)\b).* (?:from|as of|"
    rf"starting) {_TO_COME})\b"
)
"""What will be so: `is starting at Pret in January`."""
_BEGINS = {
    "starting": "started", "joining": "joined", "moving": "moved", "leaving": "left", "quitting": "quit",
    "switching": "switched", "changing": "changed", "relocating": "relocated", "going": "went",
    "starts": "started", "start": "started", "moves": "moved", "goes": "went", "go": "went", "changes": "changed",
}  # fmt: skip
_TO_BEGIN = re.compile(rf"\b(?:(?:is|are) (?:(?!not\b)\w+ )?)?\b(?P<verb>{'|'.join(_BEGINS)})\b(?! to [a-z])")
_FOREIGN_CHANGES = ("ended", "moved", "new_job", "altered", "corrects", "begun", "new")
_FOREIGN_KINDS = (*_FOREIGN_CHANGES, "before_places", "home", "job", "past", "planned", "denied")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: the stem of its last noun, the stems before it, and whether the noun is a plural."""

    head: str
    modifiers: frozenset[str]
    is_plural: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """Outline of a statement.

    `holder`: whom it is about. `topic`: what of theirs it is about. `verb` and `objects`: what it says of them.
    `words`: stems of all that it names; `names`: those with a capital; `figures`: numbers by their unit.
    `ended` and `loosely_ended`: what it says is over, in words that say so for sure or that may mean a moment;
    `altered`: what it says has been changed; `begun`: what it says has begun. `state`: the passing states that it
    tells of, such as pregnancy or a place in hospital; `passed_state`: those that it says are over. `one_of`: things of
    a kind of which one holds at a time, with the kind and a number. `kinds`: what the words of another language say of
    change, `ended_words` the stems beside those for an end, and `places` the names that follow their prepositions;
    `subject` is whom or what a sentence of another language begins with, if it is in the third person.
    """

    holder: str
    topic: Phrase | None = None
    verb: str = ""
    objects: tuple[Phrase, ...] = ()
    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    ended_words: frozenset[str] = frozenset()
    figures: tuple[tuple[str, str], ...] = ()
    ended: tuple[Phrase, ...] = ()
    loosely_ended: tuple[Phrase, ...] = ()
    altered: tuple[Phrase, ...] = ()
    begun: tuple[Phrase, ...] = ()
    obtained: tuple[Phrase, ...] = ()
    is_changed: bool = False
    is_now: bool = False
    is_denied: bool = False
    is_unreal: bool = False
    is_past: bool = False
    is_passing: bool = False
    is_one_day: bool = False
    is_added: bool = False
    is_foreign: bool = False
    is_home: bool = False
    is_job: bool = False
    is_wish: bool = False
    is_role: bool = False
    is_gone: bool = False
    is_of_others: bool = False
    says_more: bool = False
    is_body: bool = False
    is_going_on: bool = False
    titled: frozenset[str] = frozenset()
    partners: frozenset[str] = frozenset()
    is_new_job: bool = False
    is_move: bool = False
    dwells: bool = False
    place: tuple[str, str] = ("", "")
    one_of: frozenset[tuple[str, str, str]] = frozenset()
    state: frozenset[str] = frozenset()
    passed_state: frozenset[str] = frozenset()

    @property
    def numbers(self) -> frozenset[str]:
        """Figures without a unit, such as those of issues."""
        return frozenset(digits for unit, digits in self.figures if not unit)

    @property
    def keys(self) -> frozenset[str]:
        """Words by which statements that may replace each other are found."""
        phrases = (*self.objects, *self.ended, *self.loosely_ended, *self.altered, *self.obtained, *self.begun)
        heads = {phrase.head for phrase in phrases} | ({self.topic.head} if self.topic is not None else set())
        heads |= {word for phrase in self.altered for word in phrase.modifiers}
        said = self.words if self.is_foreign else heads | self.names | {self.verb}
        told = (
            ("home", self.is_home or self.is_move or self.dwells),
            ("job", self.is_job or self.is_new_job),
            ("partner", bool(self.partners)),
        )
        classes = {name for name, applies in told if applies}
        classes |= {f"one {name}" for name, _, _ in self.one_of}
        classes |= {unit for unit, _ in self.figures if unit in ("@", _PHONE)}
        classes |= self.topic.modifiers if self.topic is not None and self.figures else set()
        classes |= {f"body in {unit}" for unit, _ in self.figures if self.is_body}
        return frozenset(said | self.state | self.passed_state | classes) - {"", BE, HAVE}

    @property
    def addresses(self) -> frozenset[tuple[str, str]]:
        """Pairs of whom and what a statement is about, of which it shares one with what it replaces."""
        own = {(self.holder, key) for key in self.keys}
        named = {(name, name) for name in self.names}
        speaker, *_ = [*self.holder.split(), ""]
        own |= {(speaker, name) for name in self.state | self.passed_state if self.is_foreign or name == "pregnant"}
        if self.is_foreign and self.tells_of_change:
            named |= {(word, word) for word in self.ended_words}  # `andrés y yo cortamos`
        if self.is_foreign or self.topic is not None or self.holder == USER:
            # `User's landlord is Mr Shah`, which `Ms Pratt is the landlord now` ends
            role = {(_ROLE, self.topic.head)} if self.topic is not None and self.names_holder else set()
            return frozenset(own | named | role)
        roles = {(_ROLE, phrase.head) for phrase in self.objects} if self.verb == BE else set()
        if not self.tells_of_change:
            return frozenset(own | named | roles | {(USER, stem(self.holder))})
        # Somebody named, or something without an owner, which may be the user's.
        changed = {phrase.head for phrase in self.altered} if self.figures else set()
        users = {(USER, key) for key in (stem(self.holder), *changed)}
        return frozenset(own | named | {(stem(self.holder),) * 2} | users | roles)

    @property
    def tells_of_change(self) -> bool:
        """True if it says that something is over or other than it was."""
        phrases = (*self.ended, *self.loosely_ended, *self.altered, *self.begun, *self.obtained)
        return (
            self.is_changed
            or self.is_gone
            or self.is_measure
            or bool(phrases or self.passed_state or self.doses or self.is_new_job or self.is_move or self.place[0])
        )

    @property
    def names_holder(self) -> bool:
        """True if it says who is something to the user: `User's landlord is Mr Shah`."""
        if self.topic is None or (self.topic.head in _of_several() and not self.is_role):
            return False
        return self.is_role or (self.verb == BE and bool(self.names - {self.topic.head}))

    @property
    def doses(self) -> frozenset[tuple[str, str]]:
        """Figures with a unit of medicine, of which one holds for a medicine at a time."""
        return frozenset((unit, digits) for unit, digits in self.figures if unit in _DOSE_UNITS)

    @property
    def is_measure(self) -> bool:
        """True if it only says how much or which number something is: `The order number is 48417`."""
        if self.is_foreign:
            return len(self.figures) == 1 and len(self.words) <= _WORDS_OF_MEASURE and not self.is_passing
        is_only_figure = self.topic is not None and self.verb == BE and not self.objects
        return (is_only_figure or self.is_body) and len(self.figures) == 1


def as_done(text: str) -> str:
    """Return what somebody had to do, and so did, as done.

    >>> as_done("User had to push the wedding"), as_done("User managed to quit smoking")
    ('User pushed the wedding', 'User quit smoking')
    """
    return _HAD_TO.sub(lambda match: _DONE.get(match["verb"], f"{match['verb'].removesuffix('e')}ed"), text)


def as_said_of_user(text: str) -> str:
    """Return what two people are or do together as said of the user.

    >>> as_said_of_user("Daniel and User have been together since uni")
    'User have been together since uni with Daniel'
    """
    return _TOGETHER.sub(lambda both: f"User {both['rest']} with {both['after'] or both['before']}", text)


def as_begun(text: str) -> str:
    """Return what is planned as if its day had come.

    >>> as_begun("User is moving to Oslo in March"), as_begun("User starts at Pret on 3 March")
    ('User moved to Oslo in March', 'User started at Pret on 3 March')
    """
    return _TO_BEGIN.sub(lambda match: _BEGINS[match["verb"]], text, count=1)


def is_planned(text: str) -> bool:
    """Return whether a statement tells of a change that is still to come.

    >>> is_planned("User is starting at Pret in January"), is_planned("User started at Pret in January")
    (True, False)
    """
    return _PLANNED.search(text) is not None


@lru_cache(maxsize=CACHED_TEXTS)
def outline(text: str) -> Statement:
    """Return the outline of a statement.

    >>> found = outline("User quit the choir, too much drama")
    >>> found.holder, [phrase.head for phrase in found.ended]
    ('user', ['choir'])
    """
    plain = text.replace("\u2019", "'")
    text = as_said_of_user(as_done(_DATE.sub("", plain).strip().rstrip(".!")))
    foreign = _FOREIGN.match(text)
    if foreign is not None and not _is_english(foreign["said"]):
        return _foreign_outline(foreign["speaker"], foreign["said"])
    if foreign is not None:
        text = plain = _as_told(foreign["speaker"], foreign["said"])
    found = _english_outline(text)
    is_over = _NOT_LATELY.search(plain) is not None
    is_settled = _SETTLED.search(plain) is not None or _SINCE_DAY.search(plain) is not None
    return replace(
        found,
        is_home=found.is_home or _SETTLED.search(plain) is not None,
        is_one_day=_ONE_DAY.search(plain) is not None,
        is_unreal=found.is_unreal or is_planned(plain),
        is_changed=found.is_changed or is_over or is_settled,
        is_now=found.is_now or is_over or is_settled,
    )


@lru_cache(maxsize=CACHED_TEXTS)
def outlines(text: str) -> tuple[Statement, ...]:
    """Return the outline of a statement, and those of its clauses, of which each has a subject of its own.

    >>> said = "User: der Kurt geht in Rente, meine Schwester ist jetzt Chefin"
    >>> [found.holder for found in outlines(said) if found.is_foreign]
    ['user', 'user', 'user schwester']
    """
    return (*readings(text), *(found for clause in clauses(text) for found in readings(clause)))


def readings(text: str) -> tuple[Statement, ...]:
    """Return the outline of a statement, and its English one where a few words may be of another language, too.

    >>> [found.is_foreign for found in readings("User: standup 9.30")]
    [True, False]
    """
    found, foreign = outline(text), _FOREIGN.match(text)
    if foreign is None or not found.is_foreign or not foreign["said"].isascii():
        return (found,)
    return found, _english_outline(_as_told(foreign["speaker"], foreign["said"]).rstrip(".!"))


def clauses(text: str) -> list[str]:
    """Return the parts of a statement between commas that say something by themselves; none of one without.

    >>> clauses("User: el m\u00f3vil muri\u00f3, ahora tengo un Pixel"), clauses("User likes tea, coffee and rum")
    (['User: el m\u00f3vil muri\u00f3', 'User: ahora tengo un Pixel'], [])
    """
    foreign = _FOREIGN.match(text)
    speaker, said = ("", text) if foreign is None else (f"{foreign['speaker']}: ", foreign["said"])
    parts = _CLAUSE_ENDS.split(said)
    if foreign is None:
        parts = [part for at, part in enumerate(parts) if at == 0 or _CLAUSE.match(part)]
    found = [f"{speaker}{part}" for part in parts if len(part.split()) > 1 or _UNSPACED.search(part)]
    return found if len(parts) > 1 else []


_CLAUSE_ENDS = re.compile("[,;\uff0c\u3001\u060c] *(?:and |but |so )?| (?:and|but|so) (?=User\\b)")
_CLAUSE = re.compile(
    r"(?:User|[A-Z][\w-]+|(?:the|their|his|her|our) [\w-]+) (?:\w+ly )?[\w']+|[a-z-]+'s (?:on|at|in|now|off|over|\d)|"
    r"[a-z-]+ (?:is|are|has|was|went|got|moved) "
)
"""A clause of English that names its subject."""


def _is_english(said: str) -> bool:
    return said.isascii() and not is_doubtful(said) and detect_language(said) is None


def _as_told(speaker: str, said: str) -> str:
    """Return what somebody says of themselves in English as a memory tells it.

    >>> _as_told("User", "had to quit my job"), _as_told("User", "my visa ran out"), _as_told("User", "landlord left")
    ("User had to quit User's job", "User's visa ran out", 'landlord left')
    """
    told = _MY.sub(f"{speaker}'s", _I.sub(speaker, said))
    first = told.partition(" ")[0].lower()
    return f"{speaker} {told}" if is_past(first) or first in _BEGIN_OWN else told


_I = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)
_MY = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_BEGIN_OWN = word_set("not no back off on in let put cut quit got done")
"""Words besides past forms before which *I* is left out."""


def _english_outline(text: str) -> Statement:
    text = _IS_USERS.sub(_thing_first, _NAMING.sub(r"\g<whose> is", text))
    subject, verb, rest = _parts(_FRONTED.sub("", text))
    holder, topic = _holder(subject)
    owner, _, role = holder.partition(" ")
    if verb == BE and subject.split()[-1] == role in RELATIVES and topic is None and _NAMED.match(rest):
        # `User's boyfriend is Jake` is about the user
        holder, topic = owner, _phrase(subject.lower().split()[len(owner.split()) :])
    strong, weak = _ended_phrases(text)
    body = [token for token in _TOKEN.findall(text) if not token[0].isdigit()]
    owners = {stem(part) for part in holder.split()}
    stems = {stem(word) for word in body if _is_content(word)}
    names = {stem(word) for word in body if word[:1].isupper() and _is_content(word)}
    place = _PLACE.match(rest) if verb == BE and topic is not None else None
    return Statement(
        holder=holder,
        topic=topic,
        place=("", "") if place is None else (place["where"], stem(place["what"])),
        verb=verb if verb in (BE, HAVE) else stem(verb),
        objects=tuple(_phrases(rest)),
        words=frozenset(stems - {""}),
        names=frozenset(names - owners - {""}),
        figures=tuple(_figures(text)),
        ended=strong,
        loosely_ended=weak,
        altered=_first_phrases(_MOVES, text),
        begun=_first_phrases(_BEGUN, text),
        obtained=_first_phrases(_OBTAINED, text),
        is_changed=_CHANGED.search(text) is not None or _CORRECTED.search(text) is not None,
        is_now=_NOW.search(text) is not None,
        is_denied=_DENIED.search(text) is not None,
        is_unreal=_UNREAL.search(text) is not None,
        is_past=PAST.search(_PRESENT_YEAR.sub(r"\1", text)) is not None,
        is_passing=PASSING.search(text) is not None,
        is_added=ADDED.search(_ALONG.sub("", text)) is not None or _OTHER.search(subject) is not None,
        is_wish=_WISH.search(text) is not None,
        is_role=(_stem_of_role(text) if topic is None else topic.head) in _roles(),
        is_body=_BODY.search(text) is not None,
        is_gone=_GONE.search(text) is not None,
        is_going_on=_GOING_ON.search(text) is not None,
        is_home=_LIVES.search(text) is not None,
        is_move=_MOVED_IN.search(text) is not None,
        dwells=_DWELLS.search(text) is not None,
        is_job=_JOB.search(text) is not None,
        is_new_job=_NEW_JOB.search(text) is not None,
        partners=frozenset(map(stem, (name for match in _PARTNER.finditer(text) for name in match.groups() if name))),
        one_of=frozenset(_things_of_one_kind(text)),
        state=frozenset(name for name, (state, _) in state_changes().items() if state.search(text)),
        passed_state=frozenset(name for name, (_, end) in state_changes().items() if end.search(text)),
    )


_IS_USERS = re.compile(
    r"^(?P<value>(?!User\b)[A-Z][\w. '-]{0,40}?) is (?P<now>now )?(?P<thing>User's (?:[\w-]+ ){0,3}?[\w-]+)"
    r"(?P<rest>(?: (?:now|these days|nowadays|since\b.*|from now on|at the moment|instead))?)$"
)
"""What somebody says of a thing of theirs with the thing last: `Fontaines DC is User's favourite band these days`."""


def _thing_first(said: re.Match[str]) -> str:
    if stem(said["thing"].rpartition(" ")[2]) in _of_several():
        return said[0]
    return f"{said['thing']} is {said['now'] or ''}{said['value']}{said['rest']}"


def _things_of_one_kind(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a statement names of kinds of which one holds at a time, unless it is a further one or another's."""
    if _FURTHER.search(text) is None:
        for name, (context, things) in kinds_of_one().items():
            for match in things.finditer(text) if context.search(text) is not None else ():
                model = re.match(r" (\d+)", text[match.end() :])
                yield name, match.lastgroup or "", "" if model is None else model[1]


_TITLED = re.compile(
    r"\b(?:herrn?|frau|dr\.?|doktor|docteur|dokter|doctora?|dra\.?|monsieur|madame|mme|se\u00f1ora?|signora?|dott\.?|"
    r"dottor(?:e|essa)?|meneer|mevrouw|pan|pani|\u0434\u043e\u043a\u0442\u043e\u0440|doktorn|l\u00e6ge|dr\u017e)"
    r" (?P<after>[^\W\d_]{3,})|(?P<before>[\u4e00-\u9fff]{1,2})(?:\u5148\u751f|\u533b\u751f|\u8001\u5e08|\u3055\u3093)",
    re.IGNORECASE,
)
"""Somebody named with a title in another language: `le docteur Nguyen`."""


def _is_of_others(said: str) -> bool:
    """Return whether a statement in another language is about a neighbour or colleague, or what is theirs.

    >>> _is_of_others("le chat du voisin est mort"), _is_of_others("j'ai vendu la Clio au voisin")
    (True, False)
    """
    match = words_of_all("neighbours").search(said)
    before = "" if match is None else said[: match.start()]
    return match is not None and (len(before.split()) < _SUBJECT_WORDS or _GENITIVE.search(before) is not None)


_AND = re.compile(
    r"[,;\u3001\uff0c\u060c]| (?:und|et|y|e|i|en|och|og|ja|\u00e9s|\u0219i|\u03ba\u03b1\u03b9|ve|dan|v\u00e0|"
    r"\u0438|\u0442\u0430|\u0456|\u0914\u0930) |\ud558\uace0 "
)
"""Joins what else a statement in another language says, which holds when the rest is over."""
_SUBJECT_WORDS = 2
_GENITIVE = re.compile(
    r"\b(?:du|de la|de|des|del|de los|do|da|van|von|di|della|av|af|\u0443|\u043e\u0442)(?: \w+)? $", re.IGNORECASE
)
_NAMED_EVERYWHERE = (
    "commute",
    "phone",
    "phone_system",
    "laptop",
    "car",
    "carrier",
    "bank",
    "music_service",
    "editor",
    "browser",
)
"""Kinds whose things have one name in all languages."""


def _names_of_one_kind(said: str) -> Iterator[tuple[str, str, str]]:
    """Yield the things that a statement in another language names of kinds of which one holds at a time."""
    for name in _NAMED_EVERYWHERE:
        context, things = kinds_of_one()[name]
        # Who names a phone or a car in another language does so without a word of the context.
        for match in things.finditer(said) if name != "commute" or context.search(said) is not None else ():
            model = re.match(r" ?(\d+)", said[match.end() :])
            yield name, match.lastgroup or "", "" if model is None else model[1]


def _foreign_outline(speaker: str, said: str) -> Statement:
    """Return the outline of a statement in another language, of which only its words and its change are known."""
    relative = relative_in_subject(said)
    found = {kind for kind in _FOREIGN_KINDS if words_of_all(kind).search(said) is not None}
    found |= {"moved"} if words_of_all("own_home").search(said) is not None else set()
    first, *_ = [*_foreign_stems(said), ""]
    return Statement(
        holder=f"{speaker.lower()} {relative}".strip(),
        topic=Phrase(first, frozenset()),
        words=_foreign_words(said),
        ended_words=_foreign_words(_COMPOUND.sub(lambda noun: noun[0][-2:], _ended_part(said))),
        altered=tuple(Phrase(word, frozenset()) for word in _altered_words(said)) if "altered" in found else (),
        names=frozenset(
            stemmed for name in _FOREIGN_NAME.findall(said) if name[0].isupper() for stemmed in _foreign_stems(name)
        )
        | set(map(str.lower, _SHORT_NAME.findall(said))),
        places=frozenset(
            stemmed
            for name in _place_pattern().findall(said)
            for stemmed in (*_foreign_stems(name), *(name.lower(),) * (len(name) == _SHORT_NAME_CHARS))
        ),
        subject=_foreign_subject(said),
        figures=tuple(_foreign_figures(said)),
        is_changed=not found.isdisjoint(_FOREIGN_CHANGES) or has_change_word(said),
        is_denied="denied" in found,
        is_unreal="planned" in found,
        is_past="past" in found and "ended" not in found,
        is_added=adds_to_others(said),
        is_of_others=_is_of_others(said),
        says_more=_AND.search(said) is not None,
        is_passing=words_of_all("of_speaking").search(said) is not None,
        is_foreign=True,
        is_home=not found.isdisjoint({"home", "moved"}),
        is_job=not found.isdisjoint({"job", "new_job"}),
        titled=frozenset((match["after"] or match["before"]).lower() for match in _TITLED.finditer(said)),
        one_of=frozenset(_names_of_one_kind(said)),
        state=frozenset(_foreign_states(said, is_end=False)),
        passed_state=frozenset(_foreign_states(said, is_end=True)),
        kinds=frozenset(found),
    )


_FOREIGN_STATES = {
    "pregnant": ("expecting", "born"),
    "single": ("single", "taken"),
    "unemployed": ("jobless", "hired"),
    "meatless": ("meatless", "meat_again"),
    "off work": ("off_sick", "back_well"),
    "with parents": ("with_parents", "own_home"),
    "looking for a home": ("flat_hunting", "flat_found"),
    "engaged": ("engaged", "married"),
    "partnered": ("paired", "parted"),
    "employed": ("job", "dismissed"),
}
"""States that pass, and the kinds of words of other languages that tell of each, and of its end."""


def _foreign_states(said: str, *, is_end: bool) -> Iterator[str]:
    """Yield the states of the speaker that a statement tells of, or says are over; and a partner's pregnancy.

    >>> list(_foreign_states("szukam pracy", is_end=False)), list(_foreign_states("dostałam pracę", is_end=True))
    (['unemployed'], ['unemployed'])
    """
    told, relative = told_relations(said), relative_in_subject(said)
    for name, kinds in _FOREIGN_STATES.items():
        if words_of_all(kinds[is_end]).search(said) is None:
            continue
        if name == "employed" and words_of_all("jobless").search(said) is not None:
            continue  # who looks for a job has none
        if name == "pregnant":
            is_own = told <= told_relations("my wife, my husband, my son and my daughter")  # and not a sister
            is_own = is_own and (bool(told) or not is_end)
        else:
            # `tengo novio` names him whom the speaker has
            of_partner = (name == "single" and is_end) or name == "partnered"
            is_own = not _foreign_subject(said) and (not relative or of_partner)
            is_own = is_own and (name != "partnered" or not is_end or _parts_from_partner(said))
        if is_own:
            yield name


def _parts_from_partner(said: str) -> bool:
    """Return whether the speaker, and not somebody or something else, has parted: not `le groupe s'est séparé`."""
    parted, own = words_of_all("parted"), words_of_all("own")
    return any(parted.search(part) is not None and own.search(part) is not None for part in _PARTS.split(said))


def _foreign_subject(said: str) -> frozenset[str]:
    """Return the stems of a name, or a noun with an article, that a sentence without the first person begins with.

    >>> _foreign_subject("der Max ist ausgezogen"), _foreign_subject("Luca si è trasferito")
    (frozenset({'max'}), frozenset({'luca'}))
    >>> _foreign_subject("Endlich bin ich umgezogen"), _foreign_subject("nun har jag flyttat")
    (frozenset(), frozenset())
    """
    match = _subject_pattern().match(said)
    if match is None or words_of_all("own").search(said):
        return frozenset()
    name = match["name"]
    if not (match["article"] or name[0].isupper()) or says_time(name):
        return frozenset()
    return frozenset(_foreign_stems(name)) or frozenset(content_words(words(name)))  # short names have no stems


@cache
def _subject_pattern() -> re.Pattern[str]:
    """Return the pattern of a subject before a verb in the third person, or before that of a move after an article."""
    plural = r"(?:sind|haben|sont|ont|son|han|sono|hanno|s\u00e3o|t\u00eam|zijn|hebben)\b"
    after_article = rf"(?:{plural}|{words_of_all('moved').pattern})"
    verb = rf"(?:{words_of_all('after_name').pattern}|(?:is|zog)\b|(?(article){after_article}|(?!)))"
    articles = "der|die|das|de|het|o|a|os|as|il|lo|la|el|le|les|los|las|i|gli"
    name = r"(?!gente )[^\W\d_]{3,}"  # `a gente` is Portuguese for `we`
    return re.compile(rf"(?P<article>(?:{articles}) )?(?P<name>{name}) (?:s[ie] |s'|zich )?{verb}", re.IGNORECASE)


def _ended_part(said: str) -> str:
    """Return the parts between commas that say that something is over, with the part before one that names nothing.

    >>> _ended_part("ich bin im Urlaub, muss nicht mehr ins Büro"), _ended_part("Yoga, das ist vorbei, ich tanze")
    ('muss nicht mehr ins Büro', 'Yoga das ist vorbei')
    """
    ended, parts = words_of_all("ended"), [_object_of(part, "ended") for part in _PARTS.split(said)]
    found = [
        part if at == 0 or any(_foreign_stems(ended.sub(" ", part))) else f"{parts[at - 1]} {part}"
        for at, part in enumerate(parts)
        if ended.search(part)
    ]
    return " ".join(found)


def _altered_words(said: str) -> list[str]:
    """Return the words of what a statement says is other than it was: `o horário` of `a loja mudou o horário`."""
    return sorted(_foreign_words(" ".join(_object_of(part, "altered") for part in _PARTS.split(said))))


def _object_of(part: str, kind: str) -> str:
    """Return a part from its word for a change on if an article follows, and no time: then it has an object.

    >>> _object_of("Giulia ha perso il telefono", "ended"), _object_of("Toby murió el domingo", "ended")
    ('perso il telefono', 'Toby murió el domingo')
    """
    for match in words_of_all(kind).finditer(part):
        if _ARTICLE.match(part, match.end()) is not None and not says_time(part[match.end() :]):
            return part[match.start() :]
    return part


_ARTICLE = re.compile(
    r" (?:o|a|os|as|um|uma|il|lo|la|i|gli|le|un|una|uno|el|los|las|les|une|des|den|der|die|das|dem|einen?|eine|het|een|"
    r"meu|minha|mio|mia|mi|mis|mon|ma|mes|meinen?|meine|mijn) (?=\w)|l'(?=\w)",
    re.IGNORECASE,
)
_PARTS = re.compile("[,;\uff0c\u3001] *")


def _foreign_words(said: str) -> frozenset[str]:
    """Return the stems of what a statement names, which days of the week are not: they are figures."""
    named = (
        word for word in words_of_all("light").sub(" ", said).split() if not _SPACED.match(word) or not weekdays(word)
    )
    return frozenset(_foreign_stems(" ".join(named)))


_SPACED = re.compile("[^\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff]+$")
"""A word of a script with spaces."""


def _foreign_figures(said: str) -> Iterator[tuple[str, str]]:
    """Yield figures with the word after them, of which figures of one thing have the same, and days of the week."""
    for figure in _LONG_FIGURE.finditer(said):
        unit = re.match(r" ?([^\W\d_]*)", said[figure.end() :])
        yield unit[1][:_UNIT_CHARS].lower() if unit is not None else "", figure[0]
    for number in _COUNTED.findall(said):
        yield "", str(_IDEOGRAPHS.index(number) + 1)
    if days := weekdays(said):
        yield _WEEKDAY, "".join(map(str, sorted(days)))


_WEEKDAY = "weekday"
_WORDS_OF_MEASURE = 4
"""Words of a statement in another language that says no more than how much something is, or when."""
_UNIT_CHARS = 4
_SHORT_NAME_CHARS = 3
_SHORT_NAME = re.compile(
    r"(?:(?<=[\w,] )|^(?=\w+ (?:und ich|et moi|y yo|ed? io|e eu|en ik|och jag|i ja)\b))[A-ZÀ-Ý][A-Za-zÀ-ÿ]{2}\b"
)
_ARABIC_ARTICLE = re.compile(r"\b[وبفك]?ال(?=\w{3})|\bلل(?=\w{3})")
_WITHOUT_VOWELS = re.compile("[\u05d0-\u05ea\u0621-\u064a]")
"""A letter of Hebrew or Arabic, of which three make a word."""
_SHORT_WORD = 8
"""Letters of a word of which another form may share no more than four."""


@cache
def _place_pattern() -> re.Pattern[str]:
    return re.compile(rf"{words_of_all('before_places').pattern} ((?-i:[^\W\d_a-z])\w{{2,}})", re.IGNORECASE)


def _foreign_stems(text: str) -> Iterator[str]:
    """Yield words without what another form of them may end in, and of scripts without spaces pairs of letters.

    >>> list(_foreign_stems("fumer")), list(_foreign_stems("糖質はやめ")), list(_foreign_stems("담배는"))
    (['fume'], ['糖質'], ['담배'])
    >>> list(_foreign_stems("بعت الكورولا")), list(_foreign_stems("vendi o Uno"))
    (['بعت', 'كورو'], ['uno', 'vend'])
    """
    yield from _SINGLE.findall(text)
    yield from map(str.lower, _SHORT_NAME.findall(text))
    for word in content_words(words(_ARABIC_ARTICLE.sub("", text))):
        if _HANGUL.match(word):
            yield from (word[:2],) if len(word) > 1 else ()
        elif _UNSPACED.search(word):
            yield from (pair for run in _UNSPACED.findall(word) for pair in map("".join, pairwise(run)))
        elif len(word) > 3 or word.isdigit() or (len(word) > 2 and _WITHOUT_VOWELS.match(word)):
            yield word[: 4 if len(word) <= _SHORT_WORD else 6]


def stem(word: str) -> str:
    """Return the stem of an English word or name; empty for one that says nothing."""
    found = terms(word.lower().removesuffix("'s"), "english")
    return found[0][:_STEM_CHARS] if found else ""


@cache
def _of_several() -> frozenset[str]:
    """Return the stems of what somebody may have several of, so that one more ends none."""
    return frozenset(
        map(
            stem,
            word_set(
                "friend colleague coworker neighbour neighbor classmate teammate mate cousin pet cat dog child kid "
                "customer client brother sister son daughter uncle aunt nephew niece grandchild student pupil"
            ),
        )
    )


@cache
def _roles() -> frozenset[str]:
    return frozenset(map(stem, _ROLES))


def _stem_of_role(text: str) -> str:
    """Return what somebody is to the user: the manager of `Emma is User's manager`."""
    return stem(of["role"]) if (of := _OF_USER.match(text)) is not None else ""


def _is_content(word: str) -> bool:
    plain = word.lower().removesuffix("'s").strip(".'")
    return len(plain) > 1 and plain not in _STOP and plain[0].isalpha()


def _parts(text: str) -> tuple[str, str, str]:
    """Return the subject, the verb and what follows; a subject ends before the first auxiliary, verb or preposition."""
    tokens = text.split()
    begin = 1
    is_of_another = tokens[0].lower() in _DETERMINERS and len(tokens) > 2 and tokens[1].endswith("'s")
    is_after = is_of_another or (tokens[0].lower() in _TITLES and len(tokens) > 1)
    owner = tokens[1] if is_after else tokens[0]
    first = 1 if owner is tokens[0] else 2
    owned = owner.endswith("'s") or tokens[0].lower() in _DETERMINERS
    if owned and len(tokens) > 1 and (is_past(tokens[1]) or tokens[1] in _AUX):
        owned = False  # `Luigi's closed down`
    if tokens[0] != "User" and not owned:
        named = next((at for at in range(1, min(3, len(tokens))) if not tokens[at][:1].isupper()), min(3, len(tokens)))
        # `Design sync has moved` is of a thing, `Leo moved` of somebody
        begin = next((at for at in range(named, min(5, len(tokens))) if _ends_subject(tokens, at, 0)), named)
    elif owned:
        begin = next(
            (at for at in range(first, min(7, len(tokens))) if _ends_subject(tokens, at)),
            next((at for at, token in enumerate(tokens[2:7], 2) if token.endswith("s")), first + 1),
        )
    subject, at = " ".join(tokens[:begin]), begin
    while at < len(tokens) - 1 and (tokens[at].lower() in _AUX or tokens[at].lower() in _ADVERBS):
        at += 1
    has_auxiliary = any(word.lower() in _AUX for word in tokens[begin:at])
    if has_auxiliary and (tokens[at].lower() in _DETERMINERS | _PREPOSITIONS or not _is_participle(tokens[at])):
        last = next((word for word in reversed(tokens[begin:at]) if word.lower() in _AUX), "")
        return subject, HAVE if last.lower() in ("has", "have", "had") else BE, " ".join(tokens[at:])
    return subject, tokens[at] if at < len(tokens) else "", " ".join(tokens[at + 1 :])


def _ends_subject(tokens: list[str], at: int, owner: int = 1) -> bool:
    """Return whether a subject ends before a word: `User's budget` before `got`, `User's kids` before `play`.

    `owner`: the place of the word after which no verb stands.
    """
    word = tokens[at].lower()
    is_verb = at > owner and (is_finite(word) or (word in BASES and tokens[at - 1].endswith("s")))
    return is_verb or word in _AUX | _PREPOSITIONS | _ADVERBS


def _is_participle(token: str) -> bool:
    return token.islower() and token.endswith(("ing", "ed", "en"))


def _holder(subject: str) -> tuple[str, Phrase | None]:
    """Return whom a subject is about, and what of theirs; things without an owner are taken for the user's."""
    tokens = subject.lower().split()
    if not tokens:
        return USER, None
    if tokens[0] in _DETERMINERS and len(tokens) > 2 and tokens[1].endswith("'s"):
        tokens = tokens[1:]  # `a friend's savings` are hers
        of = tokens
    last = int(tokens[0] in _TITLES)
    owner, of = "", tokens
    if tokens[last:] and tokens[last].endswith("'s") and tokens[last + 1 :]:
        owner, of = " ".join(tokens[: last + 1]).removesuffix("'s"), tokens[last + 1 :]
    if owner:
        kin = next((at for at, word in enumerate(of) if word.removesuffix("'s").removesuffix("s") in RELATIVES), None)
        if kin is not None and not (kin and of[kin] == "manager"):
            rest = of[kin + 1 :] if of[kin].endswith("'s") else []
            return " ".join((owner, of[kin].removesuffix("'s"))), _phrase(rest)
        return owner, _phrase(of)
    if tokens[0] in _DETERMINERS or (len(tokens) > 1 and subject.rsplit(maxsplit=1)[-1].islower()):
        return USER, _phrase(tokens)
    return " ".join(tokens), None


def _phrase(tokens: list[str]) -> Phrase | None:
    stems = [found for token in tokens if _is_content(token) and token not in NUMBERS and (found := stem(token))]
    if len(stems) > 1 and tokens[-1].lower() in _OF_A_KIND:
        stems.pop()
    return Phrase(stems[-1], frozenset(stems[:-1]), tokens[-1].endswith("s")) if stems else None


def _phrases(text: str) -> list[Phrase]:
    """Return the noun phrases between prepositions and commas."""
    found: list[Phrase] = []
    current: list[str] = []
    for token in [*_TOKEN.findall(text), ","]:
        if token.lower() in _PREPOSITIONS or not token[0].isalpha() or token.lower() in _AUX or _CODE.fullmatch(token):
            if (phrase := _phrase(current)) is not None:
                found.append(phrase)
                if (
                    len(current) > 1
                    and current[-1].lower() in _OF_A_KIND
                    and (kind := stem(current[-1])) != phrase.head
                ):
                    found.append(Phrase(kind, frozenset({phrase.head})))  # `has a gym membership`
            current = []
        else:
            current.append(token)
    return found


_CODE = re.compile(r"(?=(?:\D*\d){3})[\w-]+")
"""A number with letters, which is a figure and no noun: `KX4431`."""


def _first_phrases(pattern: re.Pattern[str], text: str) -> tuple[Phrase, ...]:
    return tuple(phrase for match in pattern.finditer(text) for phrase in _phrases(match["object"])[:1])


def _ended_phrases(text: str) -> tuple[tuple[Phrase, ...], tuple[Phrase, ...]]:
    strong, weak = list[Phrase](), list[Phrase]()
    for match in _ENDED.finditer(text):
        said = next(found for name, found in match.groupdict().items() if found and name not in ("strong", "weak"))
        if match["weak"] and said.startswith(("a ", "an ")):
            continue  # `finished a course` is not about the one that is known
        target = weak if match["weak"] and not _FOR_GOOD.search(text) else strong
        target += _phrases(said)[:1]
        if (home := _HOME_OF.search(said)) is not None and (owner := stem(home["owner"].rstrip("'"))):
            target.append(Phrase(owner, frozenset()))
    for part in re.split(r"[,;.!?] ", text):
        # What two others ended is between them: `Beth and Tom broke up`.
        if (ended := _SUBJECT_ENDED.match(part)) is not None and " and " not in ended["subject"]:
            _, topic = _holder(ended["subject"])
            phrases = _phrases(ended["subject"])
            is_reserved = bool(phrases) and phrases[0].head in _RESERVED
            strong += phrases[: None if is_reserved else 1] if topic is None or is_reserved else [topic]
    return tuple(strong), tuple(weak)


def _figures(text: str) -> list[tuple[str, str]]:
    """Return the numbers of a text with their units."""
    found = [("@", address) for address in _ADDRESS.findall(text)]
    found += [(_PHONE, re.sub(r"\D", "", number)) for number in _PHONE_NUMBER.findall(text)]
    days = sorted({day.lower() for day in _DAYS_OF_WEEK.findall(text)})
    found += [(_WEEKDAY, "".join(days))] if days else []
    text = _PHONE_NUMBER.sub(" ", _ADDRESS.sub(" ", text))
    tokens = _TOKEN.findall(text)
    for at, token in enumerate(tokens):
        number = NUMBERS.get(token.lower(), token)
        if not any(sign.isdigit() for sign in number):
            continue
        digits = re.sub(r"[^\d.:]", "", number).strip(".:")
        unit = re.sub(r"[\d.:,]", "", number).lower() or _unit(tokens[at + 1] if at + 1 < len(tokens) else "")
        found.append((unit, digits))
    return found


_ADDRESS = re.compile(r"(?<![\w.+-])(?<!from )(?<!to )[\w.+-]+@[\w-]+\.[\w.]+")
_PHONE = "phone"
_PHONE_NUMBER = re.compile(r"\+?\d(?:[ ()/-]?\d){6,}")
_DAYS_OF_WEEK = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)days\b", re.IGNORECASE)
"""Days on which something is again and again."""


def _unit(word: str) -> str:
    return stem(word) if word[:1].isalpha() else word

"""Normalization of messages before they are parsed: greetings, chat spelling, omitted subjects."""

import re
from collections.abc import Callable

from pipeline.memory.grammar.instructions import find_instruction
from pipeline.memory.grammar.speaker_context import SpeakerContext
from pipeline.memory.languages.english import english_pattern, english_spelling, english_words
from pipeline.memory.languages.english_subjects import begins_with_thing, with_owners
from pipeline.memory.languages.profiles import detect_language
from pipeline.text.english_nouns import BODY, HELPERS, KIN, PARENTS, is_plural
from pipeline.text.english_verbs import BASES, PASTS, is_gerund, is_past, is_third_person, third_person, word_set

_OPENING = re.compile(
    rf"^(?:(?:{english_pattern('openings')})(?: (?:so much|a lot|a bunch|a ton|again|there|all|guys|everyone|everybody|"
    r"team))?(?:[,!.:;\s\u2013\u2014-]+|$))+",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    rf"(?:[\s,.!;-]*(?<![\w'])(?:{english_pattern('trailings')})(?![\w']))+(?=[.!\u2026\s]*$)", re.IGNORECASE
)
_TELL_NOBODY = re.compile(english_pattern("told_to_nobody"), re.IGNORECASE)
_EMOTICONS = re.compile(r"\s+(?:[:;]['-]?[()DPp/|oO3]+|<3|xD|XD)(?=\s|$)")
_MID_EMOTICONS = re.compile(rf"(?<=\w){_EMOTICONS.pattern}(?=\s\w)")
_LAUGHTER = re.compile(r",? (?:lol|lmao|haha\w*|hehe|btw|by the way|tbh|ngl)(?=[ ,.!]|$)", re.IGNORECASE)
_LAUGHS = re.compile(
    r"[\s,.\u2026]+(?:(?:ja|je|ji|ha|he|hi|ah|xa|\u0445\u0430|\u0445\u0435|\u0430\u0445){2,}\w?|k{3,}|(?:rs){2,}|mdr+|ptdr+|w{3,})(?=\W*$)|"
    r"[(\uff08]?\u7b11[)\uff09]?(?=\W*$)",
    re.IGNORECASE,
)
"""How people laugh in other languages, at the end."""
_ASIDE = re.compile(r"\s*\[[^\[\]]*\]\s*")
_WEEKDAYS = {name[:3]: name for name in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")}


_STATES = english_pattern("states")
_PREDICATE = (
    rf"(?:(?:{_STATES})(?=$|[,.;!]| (?:to|of|with|in|and|but|now|again|since|so|too|because|from|about)\b)|an?|the|in|"
    r"on|at|out|with|home|not|now|just|only|also|back(?! (?:yard|garden|door|room|pain|seat|porch)\b)|still|gone|"
    r"pregnant|(?:off|over)(?=$|[,.;!])|(?!wedding|meeting|painting|building|evening|morning)\w{2,}ing (?:an?|the|"
    r"my|our|to|in|for|on|up|too|with|from|back|soon|next|at)|\w{2,}ing$)(?!\w)"
)
"""What follows `is` rather than an owner: `my sister's expecting a baby`."""
_SUBJECT_BEFORE = re.compile(
    r"(?:^|[,;:.] |\b(?:and|but|because|so|that|think|heard|know|guess|says?|said|since|while|when|if|now) )"
    r"(?:(?:my|our|the|his|her|their|your) )?(?!(?:I|we|you|my|our|the|his|her|their|your)\b)"
    r"[\w-]+(?: (?!(?:my|our|the|his|her|their|your)\b)[\w-]+)?$",
    re.IGNORECASE,
)


_HAS = re.compile(
    r"(?:(?:just|also|only|now|still|already|finally) )?(?:got|had|been|died|fallen|moved|passed|run out|come "
    r"back|packed (?:in|up)|started|finished|(?:lost|left) (?:an?|the|his|her|their|me|us))\b"
)
"""Participles after which `'s` is `has`: `my daughter's just got into grade 5`."""


def _is_or_owns(match: re.Match[str]) -> str:
    """Return ` is ` or ` has ` after a subject; after an object (`I love my mom's cooking`) it marks its owner."""
    if not _SUBJECT_BEFORE.search(match.string[: match.start()]):
        return match[0]
    return " has " if _HAS.match(match.string[match.end() :]) else " is "


def _weekday(match: re.Match[str]) -> str:
    return f"{match[1]} {_WEEKDAYS[match[2][:3].lower()].capitalize()}"


def _gerund(match: re.Match[str]) -> str:
    """Return `working` for `workin`, and `living` for `livin`."""
    stem = match[0].rstrip("'").lower().removesuffix("in")
    is_verb = any(base in BASES for base in (stem, f"{stem}e", stem[:-1] if stem[-1:] == stem[-2:-1] else ""))
    return f"{match[0].rstrip(chr(39))}g" if is_verb else match[0]


def _i_am(match: re.Match[str]) -> str:
    """Return `I'm` for `im`, which in German is `in the`."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    is_german = bool(before) and detect_language(before + after.lstrip()) is not None
    return match[0] if is_german else "I'm"


_Spelling = tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]
_SPELLING: tuple[_Spelling, ...] = (
    *english_spelling(),
    *(
        (hint, re.compile(pattern, re.IGNORECASE), written)
        for hint, pattern, written in (
            ("last ", r"\b(last|next|this|on) (mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)\b", _weekday),
            ("in", r"\b[a-z]{3,}in'?(?= )", _gerund),
            (" levels", r"\ba levels\b", "A-levels"),
            (
                "s ",
                r"(?<=\b(?:mum|mom|dad|nan|son))s (?=[a-z]+ (?:[a-z]+ )?(?:is|was|has|had|got|starts|moved)\b)",
                "'s ",
            ),
            ("im", r"(?:^|(?<=[,.;!?] )|(?<=\b(?:and|but) ))im(?= )|(?<![\w'])im(?= (?-i:[a-z]|\d+\b(?!\.)))", _i_am),
            (
                "'s ",
                rf"(?<!\bit)(?<!he)(?<!\bthat)(?<!there)(?<!what)(?<!who)(?<=[a-z])'s (?={_PREDICATE}|{_HAS.pattern})",
                _is_or_owns,
            ),
            ("'s ", r"(?<=[a-z])(?<!\bit)(?<!\bthat)(?<!he)'s (?=[\w ]{3,30} (?:now|again)$)", _is_or_owns),
        )
    ),
)
_SMALL_I = re.compile(r"(?<![\w.'-])i(?=$|[ ,!?]|'(?:m|ve|ll|d)\b)")
_AGREED = re.compile(
    r"^(?:(?:I|we) )?(?P<did>decided|agreed|settled|arranged|concluded)(?P<whom>(?: with [\w' -]{2,40}?)?) ?: "
    r"(?=\w+ \w)",
    re.IGNORECASE,
)
"""What was decided, after a colon."""
_IT_WAS_AGREED = re.compile(
    r"^it (?:was|has been|is) (?:then |also |unanimously )*(?P<did>agreed|decided|resolved) (?=to\b|that\b)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"\b(?:dr|prof|mrs?|ms)\. (?=\w)")
"""Titles written small, which the parser would take for the end of a sentence."""
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
    r"(?:\d{1,2}(?!\w* floor)|next |tomorrow|later|noon|(?:mon|tues|wednes|thurs|fri|satur|sun)day))"
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
    r"'s\b(?! \w+s?\b \w)"
)


_OWNED = re.compile(r"\b(?:my|our|his|her|their) [\w-]+'s [\w-]+")
"""Something of somebody of the writer's, whose `'s` is no verb."""
_GOING = re.compile(
    r"going (?:freelance|part-time|full-time|vegan|vegetarian|solo|on|to(?! be\b)|back|for|away|home|up|down|out|by)\b"
)
_OCCASION = re.compile(
    r"^(?:(?:my|our) )?(?P<what>(?:\w+ )?(?:dinner|lunch|breakfast|brunch|drinks|coffee|meeting|interview|appointment|"
    r"exam|check-?up|surgery|party|rehearsal|viewing)) (?=(?:with|at|on|for|next|tomorrow|this|tonight|"
    r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)\b)(?!.*\b(?:is|"
    r"was|are|were|went|moved|cancell?ed|postponed)\b|.*: [A-Z])(?=.*\b(?:\w+day|tomorrow|tonight|next|\d))",
    re.IGNORECASE,
)
"""An appointment without a verb: `dinner with Marc on Saturday`."""
NUMBER = r"(?:\d{1,4}|two|three|four|five|six|seven|eight|nine|ten)"
_WITHOUT = re.compile(
    rf"^(?P<time>(?P<nth>(?:day|week|month|year)) (?P<count>\d{{1,4}})|"
    rf"(?:{NUMBER}|an?|one) (?:day|week|month|year)s?) (?P<state>without|sober|clean|smoke-?free|off) ?"
    r"(?P<what>(?:(?:an?|any|the|my) )?[\w-]*)(?: (?:today|now|so far))?(?=$|[,.!])",
    re.IGNORECASE,
)
"""How long somebody has done without: `6 weeks without a cigarette`."""
_INTRODUCTION = re.compile(
    r"^(?:(?:[Hh]i|[Hh]ey|[Hh]ello|[Hh]iya|[Yy]o)(?: there)?[,!. ]+)?(?:[Ii]t'?s|[Tt]his is) (?P<me>me(?: again)?,? )?"
    r"(?!\w+day\b|Christmas|Easter)(?P<name>[A-Z]\w+)(?P<here> here| again)?(?=$|[.,!]| from\b)|^(?:I go by|(?:people|"
    r"friends|everybody|everyone) calls? me) (?P<called>[A-Z][\w'-]+)$"
)
"""How people say who they are: `hey its Joe`, `it's me, Ann`, `it's Joe here`; `it's Rome` names something else."""
_RECURRING = re.compile(
    r"^(?P<what>[a-z]{3,}(?: (?!every\b|each\b)[a-z]{3,})?)(?: is| are)? (?:(?P<each>(?:every(?: other| second)?|each) "
    r")|on )?(?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)day(?P<many>s?))\b"
)
"""What somebody has every week: `choir practice is wednesdays`, `physio every thursday at 4`."""
_ABOUT_ME = re.compile(r"^(?P<age>1[3-9]|[2-9]\d) ?(?:[mf](?=,)|yo|years old|y/o)?(?=, [a-z])", re.IGNORECASE)
"""What people say of themselves first: `30, female, from Belfast`."""
_CODE = re.compile(
    r"^(?P<whose>(?:my|our|the) |)(?P<what>(?:[a-z][\w-]+ ){1,2}(?:code|pin|password|combination|number|size)|"
    r"pin code|blood (?:type|"
    r"group)):? (?P<value>#?[\w.-]*\d[\w.-]*(?: (?:positive|negative))?|(?:A|B|AB|O)(?:[+-]|"
    r" pos(?:itive)?| neg(?:ative)?))$",
    re.IGNORECASE,
)
"""A code without a verb: `gate code 4471`."""
_MIN_WORDS = 4
_STUTTER = re.compile(r"\b(?P<word>a|the|i|we|to|and|in|is|my|of),? (?P=word)\b", re.IGNORECASE)
_FILLER = re.compile(r"(?:^|,? )(?:(?:uh+|uhm+|umm+|hmm+|erm+)\b,?|um,)", re.IGNORECASE)
_MOVED = re.compile(
    r"^(?:they(?:'ve)?|(?:the |my |our )?(?!i\b|we\b|you\b|i'|we')[a-z]+) (?:have |has |had |just )*(?P<verb>moved|"
    r"changed|pushed|rescheduled|postponed|shifted|raised|lowered|bumped|increased|renamed|cut|extended) "
    r"(?P<what>(?:my|our|the) [\w ]{2,30}?) (?:(?:back|forward|up|down|out|again) )?(?:to|until|till) (?P<value>\S.*)$",
    re.IGNORECASE,
)
_DOCTOR = (
    r"(?:(?:my |the |our )?(?:new |knee |heart |eye )?(?:doc(?:tor)?|gp|dentist|vet|midwife|consultant|specialist|"
    r"optician|physio|nurse)|dr\.? \w+)(?: here)?(?:,? \(?dr\.? \w+\)?,?)?"
)
_BY_OTHERS = (
    r"^(?:they(?:'ve)?|he|she|(?:(?:my |the )?(?:doc(?:tor)?|GP|dentist|nurse|consultant|specialist|boss|manager))"
    r"(?:'s)?) (?:have |has |had |just |finally |already )*"
)
_PUT_ME = re.compile(
    rf"{_BY_OTHERS}(?:put|moved|switched|upped|cut|transferred) me (?:up |down |back |over )?"
    r"(?P<where>(?:on|in|at|next to|with) .*|to (?=\d).*)$",
    re.IGNORECASE,
)
"""Where others have put the speaker: `they moved me next to Ines`."""
_TAKEN_OFF = re.compile(
    rf"(?:{_BY_OTHERS}(?:took|taken|weaned|pulled) me off|^{_DOCTOR} (?:wants|is taking) me off(?! work\b| school\b| "
    rf"my feet\b)|^{_DOCTOR}(?: (?:has|just))* (?:stopped|discontinued) (?:my|the)) "
    r"(?P<what>[^,;.]+?)(?P<when> (?:today|yesterday|(?:last|this) \w+))?(?=$|[,;.]| (?:because|due)\b)",
    re.IGNORECASE,
)
"""What others have ended for the speaker: `the doctor took me off the statin`."""
_AND_IT = re.compile(
    r"^(?P<act>.{2,30}?\b(?P<what>(?:my|our|the) [\w -]{2,24}?)),? (?:and |so |but )?(?:now )?it"
    r"(?P<is>'s|'ll| [a-z]+s| will| has)\b"
)
"""What was changed, and what it is now: `they moved my shift, it starts at 7`."""
_NEW_VALUE = re.compile(
    r"^(?:got a |have a |my |our )?new (?P<what>[\w-]+(?: [\w-]+){0,2}?)(?: today| now| btw)*(?:,? it'?s |: |, | is | "
    r"- )(?P<value>[\w@+.:-]*\d[\w@+.:-]*)(?P<rest>.*)$|^(?:my |our )?new (?P<measure>(?:[\w-]+ )?(?:PB|PR|record|best|"
    r"number|pin|code|password))(?: is)? (?P<figure>[\w.:+-]*\d\S*(?: \d[\d-]+)*)\.?$",
    re.IGNORECASE,
)
_CHANGING = re.compile(rf"\b(?:{english_pattern('changing_verbs')})\b", re.IGNORECASE)
_OWNERS = re.compile(r"\b(?:my|our|the|his|her|their)\b", re.IGNORECASE)
_OF_THEMSELVES = re.compile(
    r"^(?P<who>[A-Z][\w'-]+|my [a-z]+) (?:says|said|told me|texted me?|mentioned)(?: that)? (?:her|his)(?= \w)"
)
"""Somebody's own, as they say it: `Jana says her favourite colour is purple`."""
_SLIPPED = re.compile(
    r"^(?P<what>(?:my |our |the )?(?!(?:it|i|we|he|she|they|just)\b)[a-z][\w-]+(?: (?!got\b|has\b|was\b)[a-z]+)?) "
    r"(?:(?:got|has been|was|"
    r"is) )?(?:slipped|moved|changed|pushed|postponed|delayed|rescheduled|shifted)(?: again| back| out)?[,;:]? (?:so |"
    r"and )?(?:now )?it(?P<is>'s|'ll| is| will)\b(?=.*(?:\d|day\b|\bnext\b|tomorrow|"
    r"\b(?:january|february|march|april|june|july|august|september|october|november|december)\b))",
    re.IGNORECASE,
)
"""What was put off, and when it is now: `launch slipped, it's June 10 now`."""
_WE_ARE = re.compile(
    rf"^we(?:'re| are) (?:now |only |just )?(?P<many>{NUMBER}) (?P<who>people|persons|heads|devs|members)"
    r"(?P<now> now)?(?=$|[.,;!]| (?:and|since)\b)",
    re.IGNORECASE,
)
_OF_US = re.compile(rf"^there(?:'s| are) (?P<many>{NUMBER}) of us(?=[,:;.]|$)", re.IGNORECASE)
_NONE_OF_US = re.compile(
    r"^(?:none of us|no ?(?:body|one) (?:at home|in (?:my|our|the) (?:family|house|household))) (?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
_SOME_OF = re.compile(
    rf"^(?P<some>(?:one|two|both|all|none) of )the (?={'|'.join(sorted(filter(is_plural, KIN)))}\b)", re.IGNORECASE
)
_HAS_NO_VERB = re.compile(
    rf"^(?P<many>no|{NUMBER})(?= (?:[a-z]+ )?(?:kids?|children|dogs?|cats?|pets|siblings|brothers?|"
    r"sisters?|sons?|daughters?)(?:(?:,| and) (?:no|a|an|[a-z\d]+) (?:[a-z]+ )?[a-z]+)*[.!]*$)",
    re.IGNORECASE,
)
"""Whom somebody has, without a verb: `no kids, two dogs`."""
_VALUE_FIRST = re.compile(
    r"^(?P<value>[$\u20ac\u00a3]?\d[\d.,]*k?(?: (?!is\b)[a-z]+)?) is (?P<what>(?:my|our) [a-z ]{3,30})(?=[.!]*$)",
    re.IGNORECASE,
)
"""What something of the writer's is, said first: `$900 is my rent`."""
_WEEKS = re.compile(
    r"^(?P<am>(?:I'm|I am) (?:now )?\d{1,2} weeks)(?=$|[,.;!]| (?:and|so|now|today|already)\b)", re.IGNORECASE
)
"""How far a pregnancy is."""
_DAY_FIRST = re.compile(
    r"^(?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)days?)(?=,? (?:I|I'm|we|we're|my|our) )", re.IGNORECASE
)
_ILLNESS = english_pattern("illnesses")
_NO_MORE_OF = re.compile(
    r"^(?:so )?no more (?P<what>[\w -]{3,20}?)(?: for me)?(?:,? I guess)?(?= since| now|[.!]*$|,)", re.IGNORECASE
)
_DOSE = re.compile(
    r"^(?P<what>[a-z]{4,}(?: \d+ ?m?[gl])?) (?=(?:once|twice|[2-6] ?x|\d times|three times) (?:a|per) day\b)",
    re.IGNORECASE,
)
"""A medicine and how often it is taken, without a verb."""
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_SPELLED_AGE = re.compile(
    rf"^I(?:'m| am) (?P<age>(?:{_TENS})(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)(?=$|[,.;!]| and\b)",
    re.IGNORECASE,
)
_HANDED = re.compile(r"\b(?P<hand>left|right) handed\b", re.IGNORECASE)
_COUNTED = re.compile(
    rf"(?:^|(?<=[,;:!.] ))(?:(?:so|and|only|just|now|down to) )*(?P<left>{NUMBER} [a-z]+s)(?: left| now){{1,2}}$",
    re.IGNORECASE,
)
"""How many somebody has, without a verb: `only 7 chickens left`, `three kids now`."""
_ADVERBS = "too|today|yesterday|now|again|recently|also|finally|last (?:week|month|year|night)"
_RELATIVES_OWN = re.compile(r"(?P<who>(?:my|our) [a-z]{3,}) (?:has|got|adopted|bought|owns)\b", re.IGNORECASE)
_SOURCES = word_set("shelter store shop breeder farm street park vet school hospital market rescue neighbour neighbor")
"""Where an animal or a person comes from, which is not who has the name that follows."""
_NAMED_NEXT = re.compile(
    rf"(?P<before>\b(?P<whose>an?|the|my|our|another) (?:[a-z-]+ )?(?P<what>(?!(?:{_ADVERBS})\b)[a-z]{{3,}})"
    rf"(?: (?:{_ADVERBS}))?)(?:,| and|;) "
    r"(?:(?:his|her|its|their) name is|(?:he|she|it)(?:'s| is) (?:called|named)) (?=(?:now )?[A-Z])"
)
"""What the first clause is about and the second names: `we adopted a dog, her name is Pixel`."""
_SOMEONE_NAMED = re.compile(
    r"\b(?P<who>someone|somebody|an? (?:[a-z]+ )?(?:guy|man|bloke|woman|girl|lady|boy))(?:,| and|;) "
    r"(?:(?:his|her|their) name is|(?:he|she)(?:'s| is) (?:called|named)) (?=[A-Z])"
)
"""Whom the second clause names: `I'm seeing someone, his name is Dafydd`."""
_OWN_WORDS = re.compile(r"\b(?:I|we|my|our)\b", re.IGNORECASE)
_STATE_ALONE = re.compile(english_pattern("states_alone"), re.IGNORECASE)
"""States whose speaker is left out: `still a nurse`, `no longer on keto`, `on antibiotics until Friday`."""
_NOT_NOUNS = english_words("no_weekly_things")
_BE = word_set("is are was were not be been being get got it it's i'm he she")
_NOT_OWN = english_words("no_own_things")
_TOLD = re.compile(
    rf"^{_DOCTOR} (?:just )?(?:said|says|told me|tells me|confirmed|thinks)(?: that)? "
    rf"(?:(?=(?:I|I'm|I've|my|our)\b)|(?P<it>it'?s) (?=(?:\w+ ){{0,4}}(?:{_ILLNESS})\b))",
    re.IGNORECASE,
)
"""Who is believed in what they say of the writer: `physio says it's a stress fracture`."""
_DIAGNOSIS = re.compile(rf"^(?:so )?it'?s (?=(?:an? )?(?:{_ILLNESS})(?=$|[,.;!]))", re.IGNORECASE)
_PROMOTED = re.compile(
    r"(?:^|(?<=, ))(?:they(?:'ve)?|he|she|(?:my |the |our )?(?:boss|chef|coach|company|manager|hotel|school|firm)"
    r"(?:'s)?) (?:have |has |just |finally )*(?:promoted me to|made me) (?=(?:an? |the )?(?:[\w-]+ ){0,3}(?:head|lead|"
    r"leader|partner|captain|supervisor|manager|director|chef|coordinator|foreman|editor|principal|chair|permanent|redundant)\b)",
    re.IGNORECASE,
)
"""What others have made the speaker: `chef made me sous chef`."""
_DONE = re.compile(
    r"^(?P<what>(?:my |our )?[a-z][a-z-]+(?: [a-z-]+)?) (?P<done>fitted|installed|removed|repaired|replaced|delivered|"
    r"booked|done|checked|scanned) ?(?=(?:on|last|yesterday|today|this|for|in)\b|(?P<end>[.!]*$))",
    re.IGNORECASE,
)
"""What the writer had done, without an auxiliary: `hearing aids fitted on Tuesday`."""
_DONE_TO_ME = re.compile(
    r"(?:^(?:(?:[A-Z]\w+|my \w+) (?:said|says|told me) (?:that )?)?|(?<=[,;:] )|(?<=\band )|(?<=\bso ))they"
    r"(?P<be>'ve|'re| have| are|) (?P<when>(?:(?:just|finally|already|now|only|actually) )*)(?P<verb>[a-z]{3,}) "
    r"(?P<who>me|us)\b(?! (?:to know|that|if|how|what|why|when|whether|so|an? (?:\w+ )?(?:look|break|lift|favou?r|hand|"
    r"laugh|smile|feeling|call|hug))\b)",
    re.IGNORECASE,
)
"""What nobody in particular has done to the speaker: `they offered me the job`."""
_SAID_OR_FELT = english_words("said_or_felt")
_OF_GERUND = {
    "send": "sent", "giv": "given", "putt": "put", "pay": "paid", "keep": "kept", "tak": "taken",
}  # fmt: skip
_PARTICIPLE = {"gave": "given", "took": "taken", "chose": "chosen", "threw": "thrown", "drew": "drawn"}
_MIN_SHOUTED_WORDS = 3
"""Fewer words in capitals may be names: `IT`, `BMW M3`."""
_SHOUTED_VERB = re.compile(
    r"^[A-Z]{4,}(?= (?:my|our|the|an?|to|it|this|that|him|her|them|in|from|on|at)\b)|(?<=\bI )[A-Z]{2,}(?= \w)"
)
_WITH_NAME = re.compile(r"^[a-z]{3,}(?= and I (?!mean\b|guess\b|think\b))")
_HEDGE = re.compile(
    r"^i(?:(?:'d| would) say| guess| think)(?: that)? (?=my (?:favou?rite|blood (?:type|group)|(?:\w+ )?(?:size|number|"
    r"code|height|weight))\b)",
    re.IGNORECASE,
)
_CONFIRMED = re.compile(r" (?P<value>\w+(?: \w+)?),? (?:yes|yeah|yep|yup|right),? (?P=value)$", re.IGNORECASE)
"""A value that is said twice to be sure: `it's o negative, yes, o negative`."""
_THEY_PAY = re.compile(
    rf"^they (?:pay|give) (?:me |us )?(?=(?:[\d.,]+|(?:\w+teen|\w+ty|ten|eleven|twelve|{NUMBER})\b)[\w ]{{0,20}}? "
    r"(?:an?|per) (?:hour|day|week|month|year|shift)\b)",
    re.IGNORECASE,
)
"""What an employer pays: `they pay sixteen an hour`."""
_ITS_DOSE = re.compile(
    r"^(?:(?P<from>(?:starting|from) \w+) )?it(?:'s| is) (?:now )?(?=[a-z]{5,} [\w-]+(?: \w+)? ?(?:mg|mcg|milligrams?|"
    r"micrograms?|units)\b)",
    re.IGNORECASE,
)
"""What somebody is to take: `from monday it's losartan fifty milligrams`."""


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
    text = _SMALL_I.sub("I", _ASIDE.sub(" ", _SHOUTED_VERB.sub(_said_calmly, text)).strip())
    text = _TITLE.sub(lambda match: match[0].capitalize(), text)
    text = _AGREED.sub(lambda match: f"I {match['did'].lower()}{match['whom']} that ", text)
    text = _IT_WAS_AGREED.sub(r"We \g<did> ", text)
    folded = text.lower()
    for hint, pattern, written in _SPELLING:
        if hint in folded:
            text = pattern.sub(written, text)
    text = _TRAILING.sub("", _LAUGHTER.sub("", _TELL_NOBODY.sub("", _INTRODUCTION.sub(_introduced, text))))
    for _ in range(3):
        shorter = _without_vocative(_OPENING.sub("", text), context)
        if shorter == text:
            break
        text = shorter
    text = _SYMBOLS.sub("", text.strip(" \t*_~\u2013\u2014-,;"))
    text = _HEDGE.sub("", _CONFIRMED.sub(r" \g<value>", _STUTTER.sub(r"\g<word>", _FILLER.sub("", text))).strip())
    text = _CODE.sub(_own_code, text)
    text = _WITH_NAME.sub(lambda match: match[0][:1].upper() + match[0][1:], text)
    text = _DONE.sub(_had_done, _PROMOTED.sub("I got promoted to ", text))
    text = _TAKEN_OFF.sub(_taken_off, _PUT_ME.sub(r"I'm now \g<where>", text))
    text = _DONE_TO_ME.sub(_done_to_me, text)
    text = _OF_THEMSELVES.sub(r"\g<who>'s", text)
    text = _DAY_FIRST.sub(lambda match: f"on {match['day'].capitalize()}", _SOME_OF.sub(r"\g<some>my ", text))
    text = _NONE_OF_US.sub(_none_of_us, _OF_US.sub(r"our household has \g<many> people", text))
    text = _AND_IT.sub(_and_it, _SLIPPED.sub(_slipped, _WE_ARE.sub(r"our group has \g<many> \g<who>\g<now>", text)))
    text = _NEW_VALUE.sub(_new_value, text)
    text = _MOVED.sub(_moved, text)
    text = _NAMED_NEXT.sub(
        _named_next, _SOMEONE_NAMED.sub(r"\g<who> called ", _COUNTED.sub(r"I have \g<left> now", text))
    )
    text = _STATE_ALONE.sub(
        lambda match: f"I'm {match[0].lower()}", _TOLD.sub(lambda told: "I have " if told["it"] else "", text)
    )
    text = _VALUE_FIRST.sub(r"\g<what> is \g<value>", text)
    text = _WEEKS.sub(r"\g<am> pregnant", _HAS_NO_VERB.sub(_has, text))
    text = _RECURRING.sub(_recurring, _ABOUT_ME.sub(r"I'm \g<age>", text))
    text = _DOSE.sub(r"I take \g<what> ", text)
    text = _SPELLED_AGE.sub(r"I'm \g<age> years old", text)
    text = _ITS_DOSE.sub(_takes, _THEY_PAY.sub("I get paid ", text))
    if context.speaker is None or " for me" in text:  # among people it may be of what the other has told
        text = _NO_MORE_OF.sub(r"I no longer have \g<what>", text)
    text = with_owners(text)
    if begins_with_thing(text):
        first, *others = text.split(", ")
        text = ", ".join([first, *map(restore_subject, others)])
    text = _HANDED.sub(r"\g<hand>-handed", text)
    text = _WITHOUT.sub(_done_without, text).replace("  ", " ")
    text = _OCCASION.sub(lambda match: f"I have {match['what']} ", text)
    # In a mail small letters go on with the line above, and few words are a title.
    is_title = len(sentence.split()) < _MIN_WORDS and sentence[-1:].isalnum()
    is_begun = context.is_chat or context.speaker is None or (sentence[:1].isupper() and not is_title)
    return restore_subject(text) if is_begun else text


def with_patient(sentence: str) -> str:
    """Return an illness that a note names without saying whose it is as its writer's.

    >>> with_patient("it's shingles, got the results back"), with_patient("it's a virus going round")
    ('I have shingles, got the results back', "it's a virus going round")
    """
    return _DIAGNOSIS.sub("I have ", sentence)


def _done_without(match: re.Match[str]) -> str:
    """Return `I've been without alcohol for 12 days` for `12 days without alcohol` and `day 12 without alcohol`."""
    time = match["time"] if match["nth"] is None else f"{match['count']} {match['nth'].lower()}s"
    return f"I've been {match['state']} {match['what']} for {time}"


def _takes(match: re.Match[str]) -> str:
    return f"{match['from']} I take " if match["from"] else "I take "


def _introduced(match: re.Match[str]) -> str:
    if match["name"] is None:
        return f"I'm called {match['called']}"
    is_speaker = match["me"] or match["here"] or match[0][:1].lower() in "hy"
    return f"I'm {match['name']}" if is_speaker else match[0]


def _moved(match: re.Match[str]) -> str:
    is_figure = match["verb"].lower() in ("raised", "lowered", "increased", "cut", "renamed")
    verb = "are" if is_plural(match["what"].rpartition(" ")[2].lower()) else "is"
    return f"{match['what']} {verb} now {'' if is_figure else 'moved to '}{match['value']}"


def _none_of_us(match: re.Match[str]) -> str:
    base = next((base for base in BASES if match["verb"].lower() in (base, third_person(base))), None)
    return match[0] if base is None else f"we don't {base}"


def _has(match: re.Match[str]) -> str:
    return f"I have {match['many'].lower()}"


def _own_code(match: re.Match[str]) -> str:
    if not _BE.isdisjoint(match["what"].lower().split()):
        return match[0]
    return f"{match['whose'] or 'my '}{match['what'][:1].lower()}{match['what'][1:]} is {match['value']}"


def _recurring(match: re.Match[str]) -> str:
    words = match["what"].split()
    is_verb = words[0] in BASES or is_past(words[0]) or is_gerund(words[-1])
    if not (match["each"] or match["many"]) or is_verb or not _NOT_NOUNS.isdisjoint(words):
        return match[0]
    return f"I have {match['what']} {match['each'] or 'on '}{match['day'].capitalize()}"


def _and_it(match: re.Match[str]) -> str:
    """Name what `it` is, after a verb of change and the only thing of the speaker's before it."""
    is_changed = _CHANGING.search(match["act"]) is not None and len(_OWNERS.findall(match["act"])) == 1
    return f"{match['act']}, {match['what']}{_written_out(match['is'])}" if is_changed else match[0]


def _written_out(verb: str) -> str:
    return {"'s": " is", "'ll": " will"}.get(verb, verb)


def _taken_off(match: re.Match[str]) -> str:
    return f"I'm no longer on {match['what']}" + (f" since{match['when']}" if match["when"] else "")


def _had_done(match: re.Match[str]) -> str:
    """Return `I had my hearing aids fitted`, of a thing and not of somebody or a verb."""
    words = match["what"].lower().split()
    first, last = words[0], words[-1]
    is_thing = first not in _NOT_OWN and last not in _BE and not is_past(last) and last not in _NO_ACTORS
    is_treatment = match["done"].lower() in ("done", "checked", "scanned")
    is_thing = is_thing and (last in _TREATED or (match["end"] is None and not is_treatment))
    owner = "" if first in ("my", "our") else "my "
    return f"I had {owner}{match['what'][:1].lower()}{match['what'][1:]} {match['done']} " if is_thing else match[0]


_TREATED = BODY | word_set(
    "op operation surgery scan mri aids braces implant implants tattoo boiler roof windows kitchen"
)
"""What is told to be done without a time."""
_NO_ACTORS = KIN | HELPERS | word_set("i we you they he she who it and just also finally already then so")


def _done_to_me(match: re.Match[str]) -> str:
    """Return `I was offered the job` for `they offered me the job`."""
    who, is_one = ("I", True) if match["who"].lower() == "me" else ("we", False)
    verb, be = match["verb"].lower(), match["be"].lower().strip()
    if be in ("'re", "are"):
        helper = "'m being" if is_one else "'re being"
        verb = _done(verb) if is_gerund(verb) else ""
    else:
        helper = "'ve been" if be else " was" if is_one else " were"
        verb = _PARTICIPLE.get(verb, verb) if is_past(verb) or verb in _PARTICIPLE.values() else ""
    return match[0] if not verb or verb in _SAID_OR_FELT else f"{who}{helper} {match['when']}{verb}"


def _done(gerund: str) -> str:
    """Return the participle of a gerund: `sent` of `sending`, `moved` of `moving`."""
    stem = gerund.removesuffix("ing")
    return _OF_GERUND.get(stem, f"{stem}ed")


def _slipped(match: re.Match[str]) -> str:
    what = match["what"]
    owner = "" if what.lower().startswith(("my ", "our ", "the ")) else "the "
    return f"{owner}{what}{_written_out(match['is'])}"


def _named_next(match: re.Match[str]) -> str:
    before = match.string[: match.end("before")]
    if not _OWN_WORDS.search(before) or match["what"] in _SOURCES:
        return match[0]
    relative = _RELATIVES_OWN.match(before)
    owner = "the" if match["whose"] == "the" else "my" if relative is None else f"{relative['who']}'s"
    return f"{match['before']}, and {owner} {match['what']} is called "


def _new_value(match: re.Match[str]) -> str:
    """Return `my phone number is now 555` for `new phone number, it's 555`."""
    if match["figure"] is not None:
        return f"my {match['measure']} is now {match['figure']}"
    return f"my {match['what']} is now {match['value']}{match['rest']}"


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
    if (
        ": " not in rest
        and is_gerund(verb)
        and (len(verb) > 5 or _GOING.match(lower))
        and verb not in _GERUNDS
        and not _HEADING.match(rest)
    ):
        is_looking = lower.startswith("looking for ")  # `looking for a flat, must take dogs`
        return None if not is_looking and _FINITE.search(_OWNED.sub("", _NO_MORE.split(lower)[0])) else "I'm"
    return None

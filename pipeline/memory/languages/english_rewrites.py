"""English messages as they are parsed: what is left out, or said in a way that a parser misreads, in full. Pure."""

import re
from collections.abc import Callable, Iterable

from pipeline.memory.languages.english import english_forms, english_pattern, english_words
from pipeline.text.english_nouns import BODY, HELPERS, KIN, is_plural
from pipeline.text.english_verbs import BASES, is_gerund, is_past, third_person

Written = str | Callable[[re.Match[str]], str]
Rewrite = tuple[re.Pattern[str], Written]
"""A pattern, and what is written for it."""


def rewritten(text: str, rewrites: Iterable[Rewrite]) -> str:
    """Return a text after each of the rewrites, in their order."""
    for pattern, written in rewrites:
        text = pattern.sub(written, text)
    return text


def _rewrite(pattern: str, written: Written) -> Rewrite:
    return re.compile(pattern, re.IGNORECASE), written


NUMBER = rf"(?:{english_pattern('numbers')})"
_DAY = rf"(?:{english_pattern('days')})"
_DOCTOR = (
    r"(?:(?:my |the |our )?(?:new |knee |heart |eye )?(?:doc(?:tor)?|gp|dentist|vet|midwife|consultant|specialist|"
    r"optician|physio|nurse)|dr\.? \w+)(?: here)?(?:,? \(?dr\.? \w+\)?,?)?"
)
_BY_OTHERS = (
    r"^(?:they(?:'ve)?|he|she|(?:(?:my |the )?(?:doc(?:tor)?|GP|dentist|nurse|consultant|specialist|boss|manager))"
    r"(?:'s)?) (?:have |has |had |just |finally |already )*"
)
_ADVERBS, _ILLNESS, _TENS = map(english_pattern, ("adverbs_of_news", "illnesses", "tens"))


def _agreed(match: re.Match[str]) -> str:
    return f"I {match['did'].lower()}{match['whom']} that "


def _own_code(match: re.Match[str]) -> str:
    if not _BE.isdisjoint(match["what"].lower().split()):
        return match[0]
    return f"{match['whose'] or 'my '}{match['what'][:1].lower()}{match['what'][1:]} is {match['value']}"


def _had_done(match: re.Match[str]) -> str:
    """Return `I had my hearing aids fitted`, of a thing and not of somebody or a verb."""
    words = match["what"].lower().split()
    first, last = words[0], words[-1]
    is_thing = first not in _NOT_OWN and last not in _BE and not is_past(last) and last not in _NO_ACTORS
    is_treatment = match["done"].lower() in ("done", "checked", "scanned")
    is_thing = is_thing and (last in _TREATED or (match["end"] is None and not is_treatment))
    owner = "" if first in ("my", "our") else "my "
    return f"I had {owner}{match['what'][:1].lower()}{match['what'][1:]} {match['done']} " if is_thing else match[0]


def _taken_off(match: re.Match[str]) -> str:
    return f"I'm no longer on {match['what']}" + (f" since{match['when']}" if match["when"] else "")


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


def _none_of_us(match: re.Match[str]) -> str:
    base = next((base for base in BASES if match["verb"].lower() in (base, third_person(base))), None)
    return match[0] if base is None else f"we don't {base}"


def _slipped(match: re.Match[str]) -> str:
    what = match["what"]
    owner = "" if what.lower().startswith(("my ", "our ", "the ")) else "the "
    return f"{owner}{what}{_written_out(match['is'])}"


def _written_out(verb: str) -> str:
    return {"'s": " is", "'ll": " will"}.get(verb, verb)


def _and_it(match: re.Match[str]) -> str:
    """Name what `it` is, after a verb of change and the only thing of the speaker's before it."""
    is_changed = _CHANGING.search(match["act"]) is not None and len(_OWNERS.findall(match["act"])) == 1
    return f"{match['act']}, {match['what']}{_written_out(match['is'])}" if is_changed else match[0]


def _new_value(match: re.Match[str]) -> str:
    """Return `my phone number is now 555` for `new phone number, it's 555`."""
    if match["figure"] is not None:
        return f"my {match['measure']} is now {match['figure']}"
    return f"my {match['what']} is now {match['value']}{match['rest']}"


def _moved(match: re.Match[str]) -> str:
    is_figure = match["verb"].lower() in ("raised", "lowered", "increased", "cut", "renamed")
    verb = "are" if is_plural(match["what"].rpartition(" ")[2].lower()) else "is"
    return f"{match['what']} {verb} now {'' if is_figure else 'moved to '}{match['value']}"


def _named_next(match: re.Match[str]) -> str:
    before = match.string[: match.end("before")]
    if not _OWN_WORDS.search(before) or match["what"] in _SOURCES:
        return match[0]
    relative = _RELATIVES_OWN.match(before)
    owner = "the" if match["whose"] == "the" else "my" if relative is None else f"{relative['who']}'s"
    return f"{match['before']}, and {owner} {match['what']} is called "


def _recurring(match: re.Match[str]) -> str:
    words = match["what"].split()
    is_verb = words[0] in BASES or is_past(words[0]) or is_gerund(words[-1])
    if not (match["each"] or match["many"]) or is_verb or not _NOT_NOUNS.isdisjoint(words):
        return match[0]
    return f"I have {match['what']} {match['each'] or 'on '}{match['day'].capitalize()}"


def _done_without(match: re.Match[str]) -> str:
    """Return `I've been without alcohol for 12 days` for `12 days without alcohol` and `day 12 without alcohol`."""
    time = match["time"] if match["nth"] is None else f"{match['count']} {match['nth'].lower()}s"
    return f"I've been {match['state']} {match['what']} for {time}"


_CHANGING = re.compile(rf"\b(?:{english_pattern('changing_verbs')})\b", re.IGNORECASE)
_OWNERS = re.compile(r"\b(?:my|our|the|his|her|their)\b", re.IGNORECASE)
_RELATIVES_OWN = re.compile(r"(?P<who>(?:my|our) [a-z]{3,}) (?:has|got|adopted|bought|owns)\b", re.IGNORECASE)
_SOURCES = english_words("sources_of_animals")
"""Where an animal or a person comes from, which is not who has the name that follows."""
_OWN_WORDS = re.compile(r"\b(?:I|we|my|our)\b", re.IGNORECASE)
_NOT_NOUNS = english_words("no_weekly_things")
_BE = english_words("no_ends_of_things")
_NOT_OWN = english_words("no_own_things")
_SAID_OR_FELT = english_words("said_or_felt")
_OF_GERUND = english_forms("participles_of_stems")
_PARTICIPLE = english_forms("participles_of_pasts")
_TREATED = BODY | english_words("treated_things")
"""What is told to be done without a time."""
_NO_ACTORS = KIN | HELPERS | english_words("no_treated_things")
AGREEMENTS: tuple[Rewrite, ...] = (
    # What was decided, after a colon.
    _rewrite(
        r"^(?:(?:I|we) )?(?P<did>decided|agreed|settled|arranged|concluded)(?P<whom>(?: with [\w' -]{2,40}?)?) ?: "
        r"(?=\w+ \w)",
        _agreed,
    ),
    _rewrite(
        r"^it (?:was|has been|is) (?:then |also |unanimously )*(?P<did>agreed|decided|resolved) (?=to\b|that\b)",
        r"We \g<did> ",
    ),
)
"""What a meeting decided, before its colon is taken for that of a speaker."""
FILLERS: tuple[Rewrite, ...] = (
    _rewrite(r"(?:^|,? )(?:(?:uh+|uhm+|umm+|hmm+|erm+)\b,?|um,)", ""),
    _rewrite(r"\b(?P<word>a|the|i|we|to|and|in|is|my|of),? (?P=word)\b", r"\g<word>"),
    # A value that is said twice to be sure: `it's o negative, yes, o negative`.
    _rewrite(r" (?P<value>\w+(?: \w+)?),? (?:yes|yeah|yep|yup|right),? (?P=value)$", r" \g<value>"),
)
"""What is said in speaking and means nothing."""
REWRITES: tuple[Rewrite, ...] = (
    _rewrite(
        r"^i(?:(?:'d| would) say| guess| think)(?: that)? (?=my (?:favou?rite|blood (?:type|group)|(?:\w+ )?(?:size|"
        r"number|"
        r"code|height|weight))\b)",
        "",
    ),
    # A code without a verb: `gate code 4471`.
    _rewrite(
        r"^(?P<whose>(?:my|our|the) |)(?P<what>(?:[a-z][\w-]+ ){1,2}(?:code|pin|password|combination|number|size)|"
        r"pin code|blood (?:type|"
        r"group)):? (?P<value>#?[\w.-]*\d[\w.-]*(?: (?:positive|negative))?|(?:A|B|AB|O)(?:[+-]|"
        r" pos(?:itive)?| neg(?:ative)?))$",
        _own_code,
    ),
    _rewrite(r"(?-i:^[a-z]{3,}(?= and I (?!mean\b|guess\b|think\b)))", lambda match: match[0].capitalize()),
    # What others have made the speaker: `chef made me sous chef`.
    _rewrite(
        r"(?:^|(?<=, ))(?:they(?:'ve)?|he|she|(?:my |the |our )?(?:boss|chef|coach|company|manager|hotel|school|firm)"
        r"(?:'s)?) (?:have |has |just |finally )*(?:promoted me to|made me) (?=(?:an? |the )?(?:[\w-]+ ){0,3}(?:head|"
        r"lead|"
        r"leader|partner|captain|supervisor|manager|director|chef|coordinator|foreman|editor|principal|chair|"
        r"permanent|redundant)\b)",
        "I got promoted to ",
    ),
    # What the writer had done, without an auxiliary: `hearing aids fitted on Tuesday`.
    _rewrite(
        r"^(?P<what>(?:my |our )?[a-z][a-z-]+(?: [a-z-]+)?) (?P<done>fitted|installed|removed|repaired|replaced|"
        r"delivered|"
        r"booked|done|checked|scanned) ?(?=(?:on|last|yesterday|today|this|for|in)\b|(?P<end>[.!]*$))",
        _had_done,
    ),
    # Where others have put the speaker: `they moved me next to Ines`.
    _rewrite(
        rf"{_BY_OTHERS}(?:put|moved|switched|upped|cut|transferred) me (?:up |down |back |over )?"
        r"(?P<where>(?:on|in|at|next to|with) .*|to (?=\d).*)$",
        r"I'm now \g<where>",
    ),
    # What others have ended for the speaker: `the doctor took me off the statin`.
    _rewrite(
        rf"(?:{_BY_OTHERS}(?:took|taken|weaned|pulled) me off|^{_DOCTOR} (?:wants|is taking) me off(?! work\b|"
        rf" school\b| "
        rf"my feet\b)|^{_DOCTOR}(?: (?:has|just))* (?:stopped|discontinued) (?:my|the)) "
        r"(?P<what>[^,;.]+?)(?P<when> (?:today|yesterday|(?:last|this) \w+))?(?=$|[,;.]| (?:because|due)\b)",
        _taken_off,
    ),
    # What nobody in particular has done to the speaker: `they offered me the job`.
    _rewrite(
        r"(?:^(?:(?:[A-Z]\w+|my \w+) (?:said|says|told me) (?:that )?)?|(?<=[,;:] )|(?<=\band )|(?<=\bso ))they"
        r"(?P<be>'ve|'re| have| are|) (?P<when>(?:(?:just|finally|already|now|only|actually) )*)(?P<verb>[a-z]{3,}) "
        r"(?P<who>me|us)\b(?! (?:to know|that|if|how|what|why|when|whether|so|an? (?:\w+ )?(?:look|break|lift|favou?r|"
        r"hand|"
        r"laugh|smile|feeling|call|hug))\b)",
        _done_to_me,
    ),
    # Somebody's own, as they say it: `Jana says her favourite colour is purple`.
    _rewrite(
        r"(?-i:^(?P<who>[A-Z][\w'-]+|my [a-z]+) (?:says|said|told me|texted me?|mentioned)(?: that)? (?:her|"
        r"his)(?= \w))",
        r"\g<who>'s",
    ),
    _rewrite(
        rf"^(?P<some>(?:one|two|both|all|none) of )the (?={'|'.join(sorted(filter(is_plural, KIN)))}\b)", r"\g<some>my "
    ),
    _rewrite(rf"^(?P<day>{_DAY}s?)(?=,? (?:I|I'm|we|we're|my|our) )", lambda match: f"on {match['day'].capitalize()}"),
    _rewrite(rf"^there(?:'s| are) (?P<many>{NUMBER}) of us(?=[,:;.]|$)", r"our household has \g<many> people"),
    _rewrite(
        r"^(?:none of us|no ?(?:body|one) (?:at home|in (?:my|our|the) (?:family|house|household))) (?P<verb>[a-z]+)\b",
        _none_of_us,
    ),
    _rewrite(
        rf"^we(?:'re| are) (?:now |only |just )?(?P<many>{NUMBER}) (?P<who>people|persons|heads|devs|members)"
        r"(?P<now> now)?(?=$|[.,;!]| (?:and|since)\b)",
        r"our group has \g<many> \g<who>\g<now>",
    ),
    # What was put off, and when it is now: `launch slipped, it's June 10 now`.
    _rewrite(
        r"^(?P<what>(?:my |our |the )?(?!(?:it|i|we|he|she|they|just)\b)[a-z][\w-]+(?: (?!got\b|has\b|was\b)[a-z]+)?) "
        r"(?:(?:got|has been|was|"
        r"is) )?(?:slipped|moved|changed|pushed|postponed|delayed|rescheduled|shifted)(?: again| back|"
        r" out)?[,;:]? (?:so |"
        r"and )?(?:now )?it(?P<is>'s|'ll| is| will)\b(?=.*(?:\d|day\b|\bnext\b|tomorrow|"
        r"\b(?:january|february|march|april|june|july|august|september|october|november|december)\b))",
        _slipped,
    ),
    # What was changed, and what it is now: `they moved my shift, it starts at 7`.
    _rewrite(
        r"(?-i:^(?P<act>.{2,30}?\b(?P<what>(?:my|our|the) [\w -]{2,24}?)),? (?:and |so |but )?(?:now )?it"
        r"(?P<is>'s|'ll| [a-z]+s| will| has)\b)",
        _and_it,
    ),
    _rewrite(
        r"^(?:got a |have a |my |our )?new (?P<what>[\w-]+(?: [\w-]+){0,2}?)(?: today| now| btw)*(?:,? it'?s |: |, |"
        r" is | "
        r"- )(?P<value>[\w@+.:-]*\d[\w@+.:-]*)(?P<rest>.*)$|^(?:my |our )?new (?P<measure>(?:[\w-]+ )?(?:PB|PR|record|"
        r"best|"
        r"number|pin|code|password))(?: is)? (?P<figure>[\w.:+-]*\d\S*(?: \d[\d-]+)*)\.?$",
        _new_value,
    ),
    _rewrite(
        r"^(?:they(?:'ve)?|(?:the |my |our )?(?!i\b|we\b|you\b|i'|we')[a-z]+) (?:have |has |had |just )*(?P<verb>moved|"
        r"changed|pushed|rescheduled|postponed|shifted|raised|lowered|bumped|increased|renamed|cut|extended) "
        r"(?P<what>(?:my|our|the) [\w ]{2,30}?) (?:(?:back|forward|up|down|out|again) )?(?:to|until|"
        r"till) (?P<value>\S.*)$",
        _moved,
    ),
    # How many somebody has, without a verb: `only 7 chickens left`, `three kids now`.
    _rewrite(
        rf"(?:^|(?<=[,;:!.] ))(?:(?:so|and|only|just|now|down to) )*(?P<left>{NUMBER} [a-z]+s)(?: left| now){{1,2}}$",
        r"I have \g<left> now",
    ),
    # Whom the second clause names: `I'm seeing someone, his name is Dafydd`.
    _rewrite(
        r"(?-i:\b(?P<who>someone|somebody|an? (?:[a-z]+ )?(?:guy|man|bloke|woman|girl|lady|boy))(?:,| and|;) "
        r"(?:(?:his|her|their) name is|(?:he|she)(?:'s| is) (?:called|named)) (?=[A-Z]))",
        r"\g<who> called ",
    ),
    # What the first clause is about and the second names: `we adopted a dog, her name is Pixel`.
    _rewrite(
        rf"(?-i:(?P<before>\b(?P<whose>an?|the|my|our|another) (?:[a-z-]+ )?(?P<what>(?!(?:{_ADVERBS})\b)[a-z]{{3,}})"
        rf"(?: (?:{_ADVERBS}))?)(?:,| and|;) "
        r"(?:(?:his|her|its|their) name is|(?:he|she|it)(?:'s| is) (?:called|named)) (?=(?:now )?[A-Z]))",
        _named_next,
    ),
    # Who is believed in what they say of the writer: `physio says it's a stress fracture`.
    _rewrite(
        rf"^{_DOCTOR} (?:just )?(?:said|says|told me|tells me|confirmed|thinks)(?: that)? "
        rf"(?:(?=(?:I|I'm|I've|my|our)\b)|(?P<it>it'?s) (?=(?:\w+ ){{0,4}}(?:{_ILLNESS})\b))",
        lambda told: "I have " if told["it"] else "",
    ),
    # States whose speaker is left out: `still a nurse`, `no longer on keto`, `on antibiotics until Friday`.
    _rewrite(english_pattern("states_alone"), lambda match: f"I'm {match[0].lower()}"),
    # What something of the writer's is, said first: `$900 is my rent`.
    _rewrite(
        r"^(?P<value>[$\u20ac\u00a3]?\d[\d.,]*k?(?: (?!is\b)[a-z]+)?) is (?P<what>(?:my|our) [a-z ]{3,30})(?=[.!]*$)",
        r"\g<what> is \g<value>",
    ),
    # Whom somebody has, without a verb: `no kids, two dogs`.
    _rewrite(
        rf"^(?P<many>no|{NUMBER})(?= (?:[a-z]+ )?(?:kids?|children|dogs?|cats?|pets|siblings|brothers?|"
        r"sisters?|sons?|daughters?)(?:(?:,| and) (?:no|a|an|[a-z\d]+) (?:[a-z]+ )?[a-z]+)*[.!]*$)",
        lambda match: f"I have {match['many'].lower()}",
    ),
    # How far a pregnancy is.
    _rewrite(
        r"^(?P<am>(?:I'm|I am) (?:now )?\d{1,2} weeks)(?=$|[,.;!]| (?:and|so|now|today|already)\b)", r"\g<am> pregnant"
    ),
    # What people say of themselves first: `30, female, from Belfast`.
    _rewrite(r"^(?P<age>1[3-9]|[2-9]\d) ?(?:[mf](?=,)|yo|years old|y/o)?(?=, [a-z])", r"I'm \g<age>"),
    # What somebody has every week: `choir practice is wednesdays`, `physio every thursday at 4`.
    _rewrite(
        r"(?-i:^(?P<what>[a-z]{3,}(?: (?!every\b|each\b)[a-z]{3,})?)(?: is| are)? (?:(?P<each>(?:every(?: other|"
        r" second)?|each) "
        rf")|on )?(?P<day>{_DAY}(?P<many>s?))\b)",
        _recurring,
    ),
    # A medicine and how often it is taken, without a verb.
    _rewrite(
        r"^(?P<what>[a-z]{4,}(?: \d+ ?m?[gl])?) (?=(?:once|twice|[2-6] ?x|\d times|three times) (?:a|per) day\b)",
        r"I take \g<what> ",
    ),
    _rewrite(
        rf"^I(?:'m| am) (?P<age>(?:{_TENS})(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)(?=$|[,.;!]|"
        rf" and\b)",
        r"I'm \g<age> years old",
    ),
    # What an employer pays: `they pay sixteen an hour`.
    _rewrite(
        rf"^they (?:pay|give) (?:me |us )?(?=(?:[\d.,]+|(?:\w+teen|\w+ty|ten|eleven|twelve|{NUMBER})\b)[\w ]{{0,20}}? "
        r"(?:an?|per) (?:hour|day|week|month|year|shift)\b)",
        "I get paid ",
    ),
    # What somebody is to take: `from monday it's losartan fifty milligrams`.
    _rewrite(
        r"^(?P<from>(?:(?:starting|from) \w+ )?)it(?:'s| is) (?:now )?(?=[a-z]{5,} [\w-]+(?: \w+)? ?(?:mg|mcg|"
        r"milligrams?|"
        r"micrograms?|units)\b)",
        r"\g<from>I take ",
    ),
)
"""What a message says, in full."""
COMPLETIONS: tuple[Rewrite, ...] = (
    _rewrite(r"\b(?P<hand>left|right) handed\b", r"\g<hand>-handed"),
    # How long somebody has done without: `6 weeks without a cigarette`.
    _rewrite(
        rf"^(?P<time>(?P<nth>(?:day|week|month|year)) (?P<count>\d{{1,4}})|"
        rf"(?:{NUMBER}|an?|one) (?:day|week|month|year)s?) (?P<state>without|sober|clean|smoke-?free|off) ?"
        r"(?P<what>(?:(?:an?|any|the|my) )?[\w-]*)(?: (?:today|now|so far))?(?=$|[,.!])",
        _done_without,
    ),
    # An appointment without a verb: `dinner with Marc on Saturday`.
    _rewrite(
        r"^(?:(?:my|our) )?(?P<what>(?:\w+ )?(?:dinner|lunch|breakfast|brunch|drinks|coffee|meeting|interview|"
        r"appointment|"
        r"exam|check-?up|surgery|party|rehearsal|viewing)) (?=(?:with|at|on|for|next|tomorrow|this|tonight|"
        r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)\b)(?!.*\b(?:is|"
        r"was|are|were|went|moved|cancell?ed|postponed)\b|.*: [A-Z])(?=.*\b(?:\w+day|tomorrow|tonight|next|\d))",
        r"I have \g<what> ",
    ),
)
"""The same of a message whose nouns have their owners."""

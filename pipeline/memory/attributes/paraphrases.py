"""Plain forms of what people say in other words, so that both are about the same attribute. Pure."""

import re
from collections.abc import Iterator

from pipeline.memory.attributes.attribute_patterns import NAME, NOW, RELATIVE
from pipeline.memory.attributes.statements import as_done

_WHO = rf"(?P<s>{NAME}(?:{RELATIVE})?)"
_PLACE = r"(?P<v>[A-Z][\w'-]*(?: [A-Z][\w'-]*)*)"
_WHEN = (
    r"(?P<t>(?: (?:now|since|for|as of|from|on|in|last|this|these|at the|right|with|again|by|around|over|"
    r"yesterday|today|recently|lately)\b.*)?)"
)
_JOB = r"(?P<v>(?:[a-z-]+ ){0,3}?[a-z-]+)"
_ROLE = (
    r"(?!(?:over|under|after|never|ever|later|together|better|\w*present|absent|different|patient|confident|content|"
    r"important|constant|instant|silent|excellent|pregnant|poor|dinner|supper)\b)"
    r"[a-z]*(?:er|or|ist|ian|ant|ent|nurse|chef|cook|man|woman|coach|pilot|intern|trainee|lead|head|staff|ceo|cto|cfo|"
    r"vp|pm|partner|associate|representative|executive|clerk|temp|guard|host|hostess|waitress|dev|"
    r"analyst|admin|barista|vet|apprentice|fellow|postdoc|dean|judge|surgeon|captain|chair|secretary|au pair)\b"
)
"""A job noun: `is happy at Acme` and `is staying at Hilton` state none."""
_COMMON_THINGS = (
    "flight|train|meeting|exam|deadline|launch|project|wedding|appointment|interview|party|course|class|office|"
    "therapy|release|demo|flat|apartment|budget"
)
"""What is also spoken of with `the`: `the flight is at 9`, `flight got moved`."""
_HOME = (
    r"(?:an?|the|their(?: own)?) (?:[a-z-]+ ){0,3}(?:flat|apartment|house|room|studio|cottage|place|condo|bungalow|"
    r"houseboat|flatshare|home|village|town|suburb)"
)
_FORMS = tuple(
    (re.compile(f"^{pattern}$"), forms)
    for pattern, forms in (
        (
            (
                rf"{_WHO} is {NOW}(?:living|based|settled|residing|staying put|stationed) (?:out of|in|at) "
                rf"{_PLACE}{_WHEN}"
            ),
            ("{s} lives in {v}",),
        ),
        (
            (
                rf"{_WHO} (?:has |have )?{NOW}(?:relocated|moved|settled(?: down)?|emigrated) "
                rf"(?:back |over |down |up |out |home )?(?:to|in) {_PLACE}{_WHEN}"
            ),
            ("{s} moved to {v}",),
        ),
        (
            rf"{_WHO} {NOW}(?:lives|rents|is {NOW}(?:living|renting)) (?:in )?{_HOME} in {_PLACE}{_WHEN}",
            ("{s} lives in {v}",),
        ),
        (
            rf"{_WHO} (?:has )?{NOW}moved (?:out |back |over )?(?:in)?to {_HOME} in {_PLACE}{_WHEN}",
            ("{s} moved to {v}",),
        ),
        (
            rf"{_WHO} is {NOW}(?:back |over )?in {_PLACE} (?:now|since\b.*|these days|for good|permanently)",
            ("{s} lives in {v}",),
        ),
        (
            (
                rf"{_WHO} {NOW}(?:got|landed|accepted|took|scored|started) (?:the|a|an|that|my|their)(?: new)? "
                rf"{_JOB} (?:job|position|role|gig)(?: at [A-Z][\w ]+)?{_WHEN}"
            ),
            ("{s} works as a {v}",),
        ),
        (
            rf"{_WHO} is {NOW}(?:working as )?an? {_JOB} (?:at|for|with) (?P<o>[A-Z][\w ]+?){_WHEN}",
            ("{s} works as a {v}", "{s} works at {o}"),
        ),
        (
            rf"{_WHO} (?:got|was|has been|is being) (?:promoted|made) (?:to )?(?:an? |the )?{_JOB}{_WHEN}",
            ("{s} works as a {v}",),
        ),
        (
            (
                rf"{_WHO} (?:has |have )?{NOW}(?:joined|started at|started working at|got hired (?:by|at)|was "
                rf"hired by|signed with) {_PLACE}{_WHEN}"
            ),
            ("{s} works at {v}",),
        ),
        (
            (
                rf"{_WHO} (?:has )?{NOW}(?:quit|resigned from|was fired from|got fired from|was laid off from|"
                rf"got laid off from|left) (?:their job at )?{_PLACE}{_WHEN}"
            ),
            ("{s} no longer works at {v}",),
        ),
        (
            (
                rf"{_WHO} (?:(?:{NOW}works|is {NOW}(?:working|starting)|(?:has )?started|got a (?:new )?job) "
                rf"at|is {NOW}employed by|(?:has )?joined) (?!(?:home|night|the|a|an|my|their|least|weekends?)\b)"
                r"(?P<v>[\w&-]+)(?: as an? [a-z -]+)?(?P<t>.*)"
            ),
            ("{s} works at {V}",),
        ),
        (
            (
                rf"(?:{_WHO} and [\w-]+|(?P<x>[\w-]+) and User) (?:are|got|is) {NOW}"
                rf"(?P<v>engaged|married|divorced|separated){_WHEN}"
            ),
            ("{w}'s relationship status is {v}",),
        ),
        (
            (
                rf"(?P<s>{NAME}'s [\w -]{{2,30}}?|The [\w -]{{2,30}}?) is {NOW}(?:called|named) "
                rf"(?P<v>[A-Z][\w-]*(?: [A-Z][\w-]*)*){_WHEN}"
            ),
            ("{s}'s name is {v}",),
        ),
        (rf"User's (?:new )?(?P<o>{_COMMON_THINGS}) (?P<v>.+)", ("The {o} {v}",)),
        (r"User's new (?P<o>[a-z][\w -]{1,30}?) (?P<v>is .+)", ("User's {o} {v}",)),
        (
            (
                rf"(?P<v>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-Z][a-z]\w*(?: [A-Z]\w+)?) is {NOW}{_WHO}'s (?:new )?"
                rf"(?P<o>[a-z]+(?: [a-z]+)?){_WHEN}"
            ),
            ("{s}'s {o} is {v}",),
        ),
        (r"User wants to be called (?P<v>.+)", ("User's nickname is now {v}",)),
        (r"User is getting married (?P<v>(?:in|on|next) .+)", ("The wedding is {v}",)),
        (
            rf"{_WHO} (?:has )?{NOW}(?:got|landed|found|took) (?:the|a) (?:new )?job at {_PLACE}{_WHEN}",
            ("{s} works at {v}", "{s} is employed", "{s} is no longer looking for a job"),
        ),
        (rf"{_WHO} is no longer at {_PLACE}{_WHEN}", ("{s} no longer works at {v}",)),
        (rf"{_WHO} (?:has )?found (?:a|the|their)(?: new)? job{_WHEN}", ("{s} is no longer looking for a job",)),
        (
            rf"{_WHO} is (?:still )?(?:looking|searching|hunting) for (?:a|new|another) (?:new )?job{_WHEN}",
            ("{s} is looking for a job",),
        ),
        (
            rf"(?P<v>{NAME}) and {_WHO} (?:have |has )?{NOW}(?:broke|broken|split) up{_WHEN}",
            ("{s} is no longer dating {v}", "{s}'s relationship status is single"),
        ),
        (
            rf"{_WHO} and (?P<v>{NAME}) (?:have |has )?{NOW}(?:broke|broken|split) up{_WHEN}",
            ("{s} is no longer dating {v}", "{s}'s relationship status is single"),
        ),
        (
            rf"{_WHO} (?:has )?{NOW}(?:broke|broken|split) up with (?P<v>{NAME}){_WHEN}",
            ("{s} is no longer dating {v}", "{s}'s relationship status is single"),
        ),
        (
            (
                rf"{_WHO} is {NOW}(?:dating|seeing|going out with) (?:a (?:guy|girl|man|woman) (?:called|"
                rf"named) )?(?P<v>{NAME}){_WHEN}"
            ),
            ("{s} is dating {v}", "{s}'s relationship status is taken"),
        ),
        (
            rf"(?P<v>{NAME}) and {_WHO} (?:are|got) {NOW}(?:divorced|separated){_WHEN}",
            ("{s} is no longer married to {v}", "{s}'s relationship status is divorced"),
        ),
        (rf"{_WHO} is {NOW}married to (?P<v>{NAME}){_WHEN}", ("{s}'s relationship status is married",)),
        (rf"{_WHO} is {NOW}single\b(?P<t>.*)", ("{s}'s relationship status is single",)),
        (
            rf"{_WHO} (?:has|got) {NOW}an? (?:new )?(?P<v>boyfriend|girlfriend|partner){_WHEN}",
            ("{s}'s relationship status is taken",),
        ),
        (
            rf"{_WHO} (?:is|got) {NOW}(?P<v>engaged|married|divorced|separated)(?: (?:to|from) {NAME})?{_WHEN}",
            ("{s}'s relationship status is {v}",),
        ),
        (rf"{_WHO} is {NOW}on (?P<v>[$\u20ac\u00a3]?\d+(?:[.,]\d+)?k)(?: now)?", ("{s} earns {v}",)),
        (rf"{_WHO} has got (?P<v>[^,;]+)", ("{s} has {v}",)),
        (
            (
                rf"{_WHO} (?:has |have )?{NOW}(?:grown|grew|shrunk|shrank|expanded|is up|is down|went up|went "
                rf"down) to (?P<v>\d+ [a-z]+){_WHEN}"
            ),
            ("{s} has {v}",),
        ),
        (rf"{_WHO} (?:can't|cannot) (?:stand|bear) (?P<v>[^,;]+?)(?: any ?more)", ("{s} no longer likes {v}",)),
        (
            rf"{_WHO} (?:has )?{NOW}(?:quit|stopped|gave up|given up) (?P<v>smoking|drinking)\b(?P<t>.*)",
            ("{s} is no longer {v}",),
        ),
        (rf"{_WHO} hasn't smoked\b(?P<t>.*)", ("{s} is no longer smoking",)),
        (rf"{_WHO} {NOW}smokes\b(?P<t>.*)", ("{s} is smoking",)),
        (rf"{_WHO} is {NOW}(?P<v>vegan|vegetarian|pescatarian)\b(?P<t>.*)", ("{s}'s diet is {v}",)),
        (rf"{_WHO} is {NOW}an? (?P<v>vegan|vegetarian|pescatarian|omnivore)\b(?P<t>.*)", ("{s}'s diet is {v}",)),
        (rf"{_WHO} {NOW}(?:eats|is eating|started eating) (?P<v>meat) again{_WHEN}", ("{s}'s diet is {v}",)),
        (rf"{_WHO} is {NOW}(?P<v>\d{{1,3}})(?: now)?", ("{s} is {v} years old",)),
        (
            rf"{_WHO} (?:just )?turned (?P<v>\d{{1,3}}|thirty|forty|fifty|sixty|twenty){_WHEN}",
            ("{s} is {v} years old",),
        ),
        (rf"{_WHO} used to live in {_PLACE}{_WHEN}", ("{s} no longer lives in {v}",)),
        (rf"{_WHO} used to work (?:at|for) {_PLACE}{_WHEN}", ("{s} no longer works at {v}",)),
        (
            rf"{_WHO} (?:has been|is) {NOW}(?:seeing|in a relationship with) someone{_WHEN}",
            ("{s}'s relationship status is taken",),
        ),
        (
            (
                rf"{_WHO}'s (?P<o>girlfriend|boyfriend|wife|husband|partner|boss) (?P<v>[A-Z][a-z]+) "
                r"(?:and|is|has|works|lives)\b(?P<t>.*)"
            ),
            ("{s}'s {o} is {v}",),
        ),
        (
            (rf"{_WHO} is {NOW}(?P<v>(?!no |not )(?:[a-z]+ ){{0,2}}?{_ROLE}) at (?P<o>[A-Z][\w&]*){_WHEN}"),
            ("{s} works as a {v}", "{s} works at {o}"),
        ),
        (
            (
                rf"{_WHO} (?:got|was|has been) (?:promoted|hired as|made)(?: to| as)? (?:an? )?{_JOB} at "
                rf"(?P<o>[A-Z][\w&]*){_WHEN}"
            ),
            ("{s} works as a {v}", "{s} works at {o}"),
        ),
        (rf"{_WHO} got laid off from (?P<v>.+?){_WHEN}", ("{s} no longer works for {v}",)),
        (rf"{_WHO} (?:is|goes) {NOW}(?:by|as) (?P<v>[A-Z][a-z]+){_WHEN}", ("{s}'s name is now {v}",)),
        (
            (
                rf"{_WHO} (?:has )?{NOW}(?:switched|changed|moved|upped|raised|lowered|bumped|pushed|rescheduled|"
                r"postponed|renamed|increased) (?:their|the|his|her) (?P<o>[\w -]{2,30}?) to (?P<v>[^,;]+?)"
            ),
            (
                "{s}'s {o} is now {v}",
                "{s}'s {o} moved to {v}",
                "The {o} is now {v}",
                "The {o} moved to {v}",
                "The {o} is now in {v}",
            ),
        ),
        (
            (
                rf"(?P<s>{NAME}'s [\w -]{{2,30}}?|The [\w -]{{2,30}}?) (?:has )?(?:just )?"
                r"(?:(?:got|was|has been|is being|is) )?(?:now )?(?:pushed|moved|rescheduled|postponed|changed|shifted|"
                r"went|gone|rose|dropped|fell|grew|grown) (?:back |forward |up |down )?to (?P<v>[^,;]+?)"
            ),
            ("{s} is now {v}", "{s} changed to {v}", "{s} is now in {v}"),
        ),
        (rf"User's (?P<o>[a-z][\w -]{{1,30}}?) is {NOW}in {_PLACE}{_WHEN}", ("The {o} is in {v}",)),
        (
            rf"(?P<s>The [a-z][\w -]{{1,30}}?) (?:has )?{NOW}(?:moved|relocated) to {_PLACE}{_WHEN}",
            ("{s} is now in {v}",),
        ),
        (
            (
                r"The (?P<v>(?:wi-?fi |door |gate |alarm |netflix )?(?:password|passcode|pin|code)) is (?:now "
                r")?(?P<o>\S+)"
            ),
            ("User's {v} is {o}",),
        ),
        (rf"{_WHO}'s car is {NOW}in the (?:garage|shop){_WHEN}", ("{s}'s car status is in repair",)),
        (rf"{_WHO} (?:got|has|picked up) their car back\b(?P<t>.*)", ("{s}'s car status is back",)),
        (
            (
                rf"{_WHO} (?:has )?{NOW}(?:sold|got rid of|traded in|gave away) (?:the|their) "
                rf"(?P<v>[\w -]+?){_WHEN}"
            ),
            ("{s} sold the {v}",),
        ),
        (
            rf"{_WHO} (?:has )?(?:finally )?passed their driving (?:test|exam)\b(?P<t>.*)",
            ("{s} no longer wants to learn to drive",),
        ),
        (
            (
                rf"{_WHO} (?:has )?{NOW}(?:switched|changed|converted|moved over|migrated) to "
                rf"(?P<v>[^,;]+?)(?: from (?P<o>[^,;]+?))?{_WHEN}"
            ),
            ("{s} now uses {v} instead",),
        ),
    )
)
_TAIL = re.compile(r"(?:,| after all$| in the end$| because | so | but | though | [-\u2013\u2014] | \().*$")


def plain_forms(text: str, *, is_first: bool = True) -> Iterator[str]:
    """Yield plain statements that say the same as a fact, without an aside after a comma, and forms of these.

    >>> next(plain_forms("User relocated to Riga"))
    'User moved to Riga'
    """
    text = as_done(text.strip().rstrip(".!"))
    head = _TAIL.sub("", text)
    if head != text and len(head.split()) > 2:
        yield head
    for pattern, forms in _FORMS:
        match = pattern.match(head)
        if match is not None:
            values = {name: value or "" for name, value in match.groupdict().items()}
            value, who = values.get("v", ""), values.get("s")
            values |= {"V": value[:1].upper() + value[1:], "w": who or "User"}
            for form in forms:
                plain = form.format(**values)
                yield plain
                if is_first:
                    yield from plain_forms(plain, is_first=False)

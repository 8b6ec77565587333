"""Claims: what somebody does, likes, has or is, or does not any more."""

import re
from collections.abc import Iterable
from dataclasses import replace

from pipeline.memory.slots.grammar import CALLED, NAME, NOW, OLD, WHO, Form, form
from pipeline.memory.slots.kinds import is_bare
from pipeline.memory.slots.slot import NOT, Slot
from pipeline.memory.slots.values import as_claim, as_subject, as_value
from pipeline.memory.verbs import third_person, words

_VERBS = words(
    "eat drink smoke speak play own have use study teach learn collect support attend watch read need want "
    "wear take visit live work run drive ride keep practice date train prepare look plan intend subscribe go "
    "travel fly write sing paint swim climb cook bake meet share rent volunteer follow know trust accept "
    "offer"
)
_LIKING = {
    **dict.fromkeys(("likes", "enjoys", "is fond of", "is into"), "like"),
    **dict.fromkeys(("loves", "adores", "really likes", "is crazy about"), "love"),
    **dict.fromkeys(("dislikes", "isn't fond of"), "not like"),
    **{
        f"{no} {likes}": "not like"
        for no, liking in (("doesn't", "{}"), ("does not", "{}"), ("no longer", "{}s"))
        for likes in (liking.format(one) for one in ("like", "enjoy", "love"))
    },
    **dict.fromkeys(
        ("hates", "can't stand", "cannot stand", "detests", "can't bear", "despises"), "not love"
    ),
}
_THIRD = {third_person(verb): verb for verb in _VERBS} | {"owns": "have"}
_BASE = {verb: verb for verb in _VERBS} | {"own": "have"}


def _gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee"):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if verb in {"run", "swim", "plan"} else f"{verb}ing"


_GERUND = {_gerund(verb): verb for verb in _VERBS} | {"owning": "have"}


def _any(of: Iterable[str]) -> str:
    """A pattern of any of these words, the longest first."""
    return "|".join(sorted(of, key=len, reverse=True))


_OBJECT = r"(?P<v>[^,;:()]+?)"
_NOTHING = "at all"
_NO = re.compile(r"no (?:longer |more )?(?:any )?(?=\S)")
_ANY = re.compile(r"^any (?:more )?(?=\S)")
_THAT = re.compile(r"(?:the|my|their|our|his|her|its|this|that|these|those) ")
_MEATLESS = ("vegetarian", "vegan")
_IS_A = r"(?:an? |the )"
_ADJECTIVES = (
    "allergic|vegetarian|vegan|lactose|gluten|diabetic|pescatarian|colorblind|fluent|afraid|addicted"
)


def _claim(match: re.Match[str], verb: str, value: str, *, denied: bool) -> Slot | None:
    """That somebody does something; the circumstances belong to it."""
    subject = as_subject(match["s"])
    what = as_claim(value) if value.strip() else _NOTHING
    if subject is None or what is None:
        return None
    if denied:
        return Slot(subject, verb, f"{NOT}{what}", replaces=what, single=False)
    return Slot(subject, verb, what, single=False)


def _denial(match: re.Match[str], verb: str, value: str) -> Slot | None:
    """That somebody does not do something: none of its kind, unless a very one is meant."""
    value = _ANY.sub("", value)
    slot = _claim(match, verb, value, denied=True)
    if slot is None or slot.replaces is None:
        return None
    return replace(slot, every=_THAT.match(value) is None and is_bare(verb, slot.replaces))


def _does(match: re.Match[str]) -> Iterable[Slot | None]:
    verb = _THIRD[match["b"]]
    what = match["v"] or ""
    if (no := _NO.match(what)) is not None:
        yield _denial(match, verb, what[no.end() :])
        return
    yield _claim(match, verb, what, denied=False)
    if verb == "drive" and what.startswith(("a ", "an ")):
        yield _claim(match, "have", what, denied=False)


def _can(match: re.Match[str]) -> Iterable[Slot | None]:
    yield _claim(match, match["b"], match["v"], denied=False)


def _is_on(match: re.Match[str]) -> Iterable[Slot | None]:
    yield _claim(match, "is on", match["v"], denied=False)


def _is_back(match: re.Match[str]) -> Iterable[Slot | None]:
    yield _claim(match, "is on", match["v"], denied=True)


def _gave_birth(match: re.Match[str]) -> Iterable[Slot | None]:
    subject = as_subject(match["s"])
    if subject is not None:
        yield Slot(subject, "is pregnant", f"{NOT}pregnant", replaces="pregnant")


def _does_not(match: re.Match[str]) -> Iterable[Slot | None]:
    yield _denial(match, (_BASE | _THIRD)[match["b"]], match["v"] or "")


def _is_doing(match: re.Match[str]) -> Iterable[Slot | None]:
    yield _claim(match, _GERUND[match["b"]], match["v"] or "", denied=False)


def _stopped(match: re.Match[str]) -> Iterable[Slot | None]:
    yield _denial(match, _GERUND[match["b"]], match["v"] or "")


def _likes(match: re.Match[str]) -> Iterable[Slot | None]:
    how = _LIKING[" ".join(match["b"].split())]
    denied = how.startswith(NOT)
    slot = _denial(match, "like", match["v"]) if denied else _claim(match, "like", match["v"], denied=False)
    yield None if slot is None else replace(slot, detail=how.removeprefix(NOT).replace("like", ""))


def _is(match: re.Match[str]) -> Iterable[Slot | None]:
    slot = _claim(match, "is", match["v"], denied=False)
    yield slot
    if slot is not None and slot.value in _MEATLESS:
        yield Slot(slot.subject, "eat", f"{NOT}meat", replaces="meat", single=False, detail="by diet")


def _is_not(match: re.Match[str]) -> Iterable[Slot | None]:
    yield _denial(match, "is", match["v"])


def _lost(match: re.Match[str]) -> Iterable[Slot | None]:
    for verb in ("have", "drive", "ride"):
        yield _claim(match, verb, match["v"], denied=True)


def _died(match: re.Match[str]) -> Iterable[Slot | None]:
    yield _claim(match, "have", match["v"], denied=True)


def _unsubscribed(match: re.Match[str]) -> Iterable[Slot | None]:
    slot = _claim(match, "subscribe", f"to {match['v']}", denied=True)
    yield slot
    if slot is not None:
        yield _claim(match, "have", match["v"], denied=True)


def _trip_off(match: re.Match[str]) -> Iterable[Slot | None]:
    for verb in ("go", "travel", "fly"):
        yield _claim(match, verb, f"to {match['v']}", denied=True)


def _achieved(match: re.Match[str]) -> Iterable[Slot | None]:
    for verb in {"found": ("look",), "passed": ("prepare", "study", "train"), "got": ("look",)}.get(
        match["b"], ("write", "read")
    ):
        prefix = "" if verb in ("write", "read") else "for "
        yield _claim(match, verb, f"{prefix}{match['v']}", denied=True)


_SWITCHED = (
    "use",
    "run",
    "study",
    "learn",
    "play",
    "take",
    "eat",
    "drink",
    "drive",
    "have",
    "work",
    "subscribe",
)


def _switched(match: re.Match[str]) -> Iterable[Slot | None]:
    """From one thing to another, whatever is done with them: what was done with the first is not any more."""
    subject, old, new = as_subject(match["s"]), as_value(match["o"]), as_value(match["v"])
    if subject and old and new:
        for verb in _SWITCHED:
            for form_of in (old, f"on {old}") if verb == "run" else (old,):
                yield Slot(subject, verb, new, replaces=form_of, single=False, detail="changed")


def _upgraded(match: re.Match[str]) -> Iterable[Slot | None]:
    subject, new = as_subject(match["s"]), as_value(match["v"])
    if subject and new and re.search(r"\d", new):
        product = re.sub(r"\s*\d.*$", "", new)
        for verb in ("use", "run", "have") if product else ():
            yield Slot(subject, verb, new, replaces=product, single=False, detail="changed")


_NOT_ANY_MORE = r"(?:is no longer|isn't|is not|(?:has |have )?(?:stopped|quit|gave up|given up))"
_PETS = "cat|dog|hamster|rabbit|horse|parrot|guinea pig|turtle|goldfish|bird|pet"
_LEAVE = r"(?P<v>(?:[a-z]+ )?(?:vacation|holiday|leave|sabbatical|break)|a business trip|a trip)"
FORMS: tuple[Form, ...] = (
    form(
        rf"{WHO} {NOW}(?P<b>{_any(_LIKING)}) {_OBJECT}(?: a lot)?",
        _likes,
        "likes like loves love enjoys enjoy dislikes hates stand detests adores despises fond into crazy "
        "bear",
        tail=False,
    ),
    form(rf"{WHO} {NOW}(?P<b>{_any(_THIRD)})(?: {_OBJECT}{CALLED})?", _does, " ".join(_THIRD), tail=False),
    form(rf"{WHO} (?:can|is able to) (?P<b>speak|play|drive|swim) {_OBJECT}", _can, "can able", tail=False),
    form(
        rf"{WHO} (?:no longer|never) (?P<b>{_any(_THIRD)})(?: {_OBJECT})?",
        _does_not,
        "longer never",
        tail=False,
    ),
    form(
        rf"{WHO} (?:doesn't|does not) {NOW}(?P<b>{_any(_BASE)})(?: {_OBJECT})?",
        _does_not,
        "doesn't does",
        tail=False,
    ),
    form(rf"{WHO} is {NOW}(?P<b>{_any(_GERUND)})(?: {_OBJECT})?", _is_doing, " ".join(_GERUND), tail=False),
    form(
        rf"{WHO} {_NOT_ANY_MORE} (?P<b>{_any(_GERUND)})(?: {_OBJECT})?",
        _stopped,
        " ".join(_GERUND),
        tail=False,
    ),
    form(rf"{WHO} is {NOW}{_IS_A}(?P<v>[a-z][\w -]+?)", _is, "is", tail=False),
    form(rf"{WHO} is {NOW}(?P<v>(?:{_ADJECTIVES})\b.*?)", _is, _ADJECTIVES.replace("|", " "), tail=False),
    form(
        rf"{WHO} (?:is no longer|isn't|is not) {_IS_A}?(?P<v>[a-z][^,;:]*?)", _is_not, "is isn't", tail=False
    ),
    form(rf"{WHO} {NOW}works as {_IS_A}(?P<v>[a-z][\w -]+?)", _is, "works", tail=False),
    form(rf"{WHO} is {NOW}on {_LEAVE}", _is_on, "vacation holiday leave sabbatical break trip"),
    form(rf"{WHO} is {NOW}back from {_LEAVE}", _is_back, "back"),
    form(
        rf"{WHO} (?:had|gave birth to) (?:an? |the |their )?(?:baby|girl|boy|son|daughter)\b.*",
        _gave_birth,
        "had gave",
    ),
    form(
        rf"{WHO} (?:has )?(?:sold|gave away|got rid of|returned|donated|traded(?: in)?) "
        rf"(?:the|their|his|her) {_OBJECT}(?: (?:for|to|in) .+)?",
        _lost,
        "sold gave got returned donated traded",
        tail=False,
    ),
    form(rf"(?P<s>{NAME})'s (?P<v>{_PETS}) (?:has )?(?:died|passed away)", _died, "died passed"),
    form(
        rf"{WHO} (?:has )?(?:cancelled|canceled|called off) (?:the |their )?"
        rf"(?:trip|flight|journey|holiday) to {_OBJECT}",
        _trip_off,
        "cancelled canceled called",
    ),
    form(
        rf"{WHO} (?:has )?(?:cancelled|canceled|unsubscribed from) (?:the |their )?(?:subscription to )?"
        rf"{_OBJECT}",
        _unsubscribed,
        "cancelled canceled unsubscribed",
    ),
    form(
        rf"{WHO} (?:has )?(?P<b>passed|finished|submitted|completed|handed in|found|got) "
        rf"(?=(?:an?|the|their|his|her) ){_OBJECT}",
        _achieved,
        "passed finished submitted completed handed found got",
    ),
    form(
        rf"{WHO} (?:has |have |was |were )?{NOW}(?:switched|changed|migrated|moved|converted) from {OLD} to "
        rf"{_OBJECT}",
        _switched,
        "switched changed migrated moved converted",
    ),
    form(
        rf"{WHO} (?:has |have |was |were )?{NOW}(?:upgraded|updated|migrated) to {_OBJECT}",
        _upgraded,
        "upgraded updated migrated",
    ),
)

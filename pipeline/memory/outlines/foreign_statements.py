"""Outline of a statement in another language than English, of which only its words and its change are known. Pure."""

import re
from collections.abc import Iterator
from functools import cache

from pipeline.memory.languages.profiles import words_of_all
from pipeline.memory.outlines.figures import foreign_figures
from pipeline.memory.outlines.foreign_stems import foreign_stems, named_stems, short_names, without_names_of_compounds
from pipeline.memory.outlines.other_things import named_things
from pipeline.memory.outlines.statement import Phrase, Statement
from pipeline.text.analyzer import content_words, words
from pipeline.text.statement_words import (
    adds_to_others,
    has_change_word,
    relative_in_subject,
    says_time,
    told_relations,
)

_CHANGES = ("ended", "moved", "new_job", "altered", "corrects", "begun", "new")
_MARKS = (*_CHANGES, "before_places", "home", "job", "past", "planned", "denied")
_MEANT = {"moved": "home", "new_job": "job", "planned": "unreal"}
"""What a mark says beside itself."""
_NAME = re.compile(r"\b\w{3,}")
_SHORT_NAME_CHARS = 3
_PARTS = re.compile("[,;\uff0c\u3001] *")
_AND = re.compile(
    r"[,;\u3001\uff0c\u060c]| (?:und|et|y|e|i|en|och|og|ja|és|și|και|ve|dan|và|"
    r"и|та|і|और) |하고 "
)
"""Joins what else a statement says, which holds when the rest is over."""
_SUBJECT_WORDS = 2
_OF = r"\b(?:du|de la|de|des|del|de los|do|da|od|van|von|vom|di|della|av|af|у|от)"
_GENITIVE = re.compile(rf"{_OF}(?: \w+)? $", re.IGNORECASE)
_QUALIFIED = re.compile(rf"(?:\w{{1,3}} )?\w{{3,}} {_OF} (?:\w{{1,3}} )?(?P<of>\w{{3,}})", re.IGNORECASE)
"""What the thing that a statement begins with is of: `la clave del banco`."""
_NAMED_EVERYWHERE = (
    "commute", "phone", "phone_system", "laptop", "car", "carrier", "bank", "music_service", "editor", "browser",
)  # fmt: skip
"""Kinds whose things have one name in all languages."""
_STATES = {
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
"""States that pass, and the kinds of words that tell of each, and of its end."""


def foreign_outline(speaker: str, said: str) -> Statement:
    """Return the outline of what somebody says."""
    marks = frozenset(_marks(said))
    first, *_ = [*foreign_stems(said), ""]
    names = {stemmed for name in _NAME.findall(said) if name[0].isupper() for stemmed in foreign_stems(name)}
    return Statement(
        holder=f"{speaker.lower()} {relative_in_subject(said)}".strip(),
        topic=Phrase(first, frozenset(_qualifiers(said))),
        words=named_stems(said),
        ended_words=named_stems(without_names_of_compounds(_ended_part(said))),
        altered=tuple(map(Phrase, _altered_words(said))) if "altered" in marks else (),
        names=frozenset(names.union(short_names(said))),
        places=frozenset(_places(said)),
        subject=_subject(said),
        figures=tuple(foreign_figures(said)),
        marks=marks,
        is_foreign=True,
        titled=frozenset((match["after"] or match["before"]).lower() for match in _titled().finditer(said)),
        # Who names a phone or a car in another language does so without a word of the context.
        one_of=frozenset(named_things(said, _NAMED_EVERYWHERE, ("commute",))),
        state=frozenset(_states(said, is_end=False)),
        passed_state=frozenset(_states(said, is_end=True)),
    )


def _qualifiers(said: str) -> Iterator[str]:
    """Yield the stems of what the thing that a statement begins with is of.

    >>> list(_qualifiers("la clave del banco termina en 31")), list(_qualifiers("la clave es 4471"))
    (['banc'], [])
    """
    if (match := _QUALIFIED.match(said)) is not None:
        yield from foreign_stems(match["of"])


def _marks(said: str) -> Iterator[str]:
    """Yield what a statement says by its words."""
    found = {mark for mark in _MARKS if words_of_all(mark).search(said) is not None}
    if words_of_all("own_home").search(said) is not None:
        found.add("moved")
    yield from found - ({"past"} if "ended" in found else set())
    yield from (_MEANT[mark] for mark in found & _MEANT.keys())
    if not found.isdisjoint(_CHANGES) or has_change_word(said):
        yield "changed"
    if adds_to_others(said):
        yield "added"
    if _is_of_others(said):
        yield "of_others"
    if _AND.search(said) is not None:
        yield "says_more"
    if words_of_all("of_speaking").search(said) is not None:
        yield "passing"


def _is_of_others(said: str) -> bool:
    """Return whether a statement is about a neighbour or colleague, or what is theirs.

    >>> _is_of_others("le chat du voisin est mort"), _is_of_others("j'ai vendu la Clio au voisin")
    (True, False)
    """
    match = words_of_all("neighbours").search(said)
    before = "" if match is None else said[: match.start()]
    return match is not None and (len(before.split()) < _SUBJECT_WORDS or _GENITIVE.search(before) is not None)


def _states(said: str, *, is_end: bool) -> Iterator[str]:
    """Yield the states of the speaker that a statement tells of, or says are over; and a partner's pregnancy.

    >>> list(_states("szukam pracy", is_end=False)), list(_states("dostałam pracę", is_end=True))
    (['unemployed'], ['unemployed'])
    """
    told, relative = told_relations(said), relative_in_subject(said)
    for name, kinds in _STATES.items():
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
            is_own = not _subject(said) and (not relative or of_partner)
            is_own = is_own and (name != "partnered" or not is_end or _parts_from_partner(said))
        if is_own:
            yield name


def _parts_from_partner(said: str) -> bool:
    """Return whether the speaker, and not somebody or something else, has parted: not `le groupe s'est séparé`."""
    parted, own = words_of_all("parted"), words_of_all("own")
    return any(parted.search(part) is not None and own.search(part) is not None for part in _PARTS.split(said))


def _subject(said: str) -> frozenset[str]:
    """Return the stems of a name, or a noun with an article, that a sentence without the first person begins with.

    >>> _subject("der Max der ist ausgezogen"), _subject("Luca si è trasferito")
    (frozenset({'max'}), frozenset({'luc'}))
    >>> _subject("Endlich bin ich umgezogen"), _subject("nun har jag flyttat")
    (frozenset(), frozenset())
    """
    match = _subject_pattern().match(said)
    if match is None or words_of_all("own").search(said):
        return frozenset()
    name = match["name"]
    if not (match["article"] or name[0].isupper()) or says_time(name):
        return frozenset()
    return frozenset(foreign_stems(name)) or frozenset(content_words(words(name)))  # short names have no stems


@cache
def _subject_pattern() -> re.Pattern[str]:
    """Return the pattern of a subject before a verb in the third person, or before that of a move after an article."""
    after_article = rf"(?:{words_of_all('plural_verbs').pattern}|{words_of_all('moved').pattern})"
    verb = rf"(?:{words_of_all('after_name').pattern}|(?:is|zog)\b|(?(article){after_article}|(?!)))"
    article = words_of_all("definite_articles").pattern
    name = r"(?!gente )[^\W\d_]{3,}"  # `a gente` is Portuguese for `we`
    again = "(?:(?:d(?:er|ie|as)|ils?|elles?|hij|lui|lei|él|ella|ele|ela) |s[ie] |s'|zich )?"
    return re.compile(rf"(?P<article>{article} )?(?P<name>{name}) {again}{verb}", re.IGNORECASE)


def _ended_part(said: str) -> str:
    """Return the parts between commas that say that something is over, with the part before one that names nothing.

    >>> _ended_part("ich bin im Urlaub, muss nicht mehr ins Büro"), _ended_part("Yoga, das ist vorbei, ich tanze")
    ('muss nicht mehr ins Büro', 'Yoga das ist vorbei')
    """
    ended, parts = words_of_all("ended"), [_object_of(part, "ended") for part in _PARTS.split(said)]
    found = [
        part if at == 0 or any(foreign_stems(ended.sub(" ", part))) else f"{parts[at - 1]} {part}"
        for at, part in enumerate(parts)
        if ended.search(part)
    ]
    return " ".join(found)


def _altered_words(said: str) -> list[str]:
    """Return the words of what a statement says is other than it was: `o horário` of `a loja mudou o horário`."""
    return sorted(named_stems(" ".join(_object_of(part, "altered") for part in _PARTS.split(said))))


def _object_of(part: str, kind: str) -> str:
    """Return a part from its word for a change on if an article follows, and no time: then it has an object.

    >>> _object_of("Giulia ha perso il telefono", "ended"), _object_of("Toby murió el domingo", "ended")
    ('perso il telefono', 'Toby murió el domingo')
    """
    for match in words_of_all(kind).finditer(part):
        if _article().match(part, match.end()) is not None and not says_time(part[match.end() :]):
            return part[match.start() :]
    return part


@cache
def _article() -> re.Pattern[str]:
    return re.compile(rf" {words_of_all('articles').pattern} (?=\w)|l'(?=\w)", re.IGNORECASE)


@cache
def _titled() -> re.Pattern[str]:
    """Return the pattern of somebody named with a title: `le docteur Nguyen`."""
    titles = rf"(?:{words_of_all('titles').pattern}|\b(?:dra?|dott)\.)"
    after = "(?:先生|医生|老师|さん)"
    return re.compile(rf"{titles} (?P<after>[^\W\d_]{{3,}})|(?P<before>[\u4e00-\u9fff]{{1,2}}){after}", re.IGNORECASE)


def _places(said: str) -> Iterator[str]:
    """Yield the stems of names after prepositions of places, and short ones as they are."""
    for name in _place_pattern().findall(said):
        yield from foreign_stems(name)
        if len(name) == _SHORT_NAME_CHARS:
            yield name.lower()


@cache
def _place_pattern() -> re.Pattern[str]:
    return re.compile(rf"{words_of_all('before_places').pattern} ((?-i:[^\W\d_a-z])\w{{2,}})", re.IGNORECASE)

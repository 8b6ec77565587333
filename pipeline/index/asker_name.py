"""The names of whoever writes a namespace's texts: their own, read from what they say of themselves, and "the user".

"Where does Alice live?" asks Alice's own memory what she would ask by "Where do I live?", and so does an application by
"Where does the user live?". The same holds in a conversation in which Alice says "I".
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from pipeline.index.ranking.query_intent import MAX_SPEAKER_NAME_CHARS
from pipeline.index.segments.segment_list import SegmentView
from pipeline.rows import ChunkColumns, MemoryColumns
from pipeline.text.analyzer import content_words, is_unspaced_script, words
from pipeline.text.english_verbs import word_set
from pipeline.text.speaker_attribution import parse_utterances
from pipeline.text.statement_words import asks_about_asker, capitalized_names, names_asker
from pipeline.text.word_lists import list_pattern, read_list

_SAMPLED_ROWS = 8
_MIN_SPOKEN_ROWS = 3
"""Of so many passages with a name, at even distances, somebody of that name speaks in at least so many."""
_MAX_ROW_TERMS = 12
_MAX_ROWS = 16
"""A memory that introduces the user is short; so many of those with a term are read in a segment."""
MAX_MEMORY_CHARS = 80
"""Longer statements introduce nobody."""
_NAME = r"(?P<name>(?:[^\W\d_a-z][\w'\u2019-]*)(?: [^\W\d_a-z][\w'\u2019-]*){0,3})"
_ENGLISH = re.compile(
    rf"User(?:'s (?:full |first |given |nick)?name is(?: now)?| is (?:called|named)| goes by| wants to be called)"
    rf" (?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_NAME}"
)
_IDENTITY = re.compile(rf"User is {_NAME}(?:$|,| from | and )")
"""Also what `User is Danish` looks like."""
_CAPITALIZED = r"(?-i:[A-ZÀ-ÖØ-ÞĄ-ŽΑ-ΩА-ЯЁЄІЇҐ])[\w'\u2019-]*"
_OTHER_LANGUAGES = re.compile(
    r"User: (?:ich hei(?:ß|ss)e|mein name ist|je m'appelle|mon (?:nom|prénom) est|me llamo|mi nombre es|mi chiamo|"
    r"il mio nome è|me chamo|chamo-me|(?:o )?meu nome é|ik heet|mijn naam is|mam na imię|nazywam się|jmenuji se|"
    r"jag heter|mitt namn är|ik ben|je suis|moi c'est|(?:yo )?soy|(?:eu )?sou [ao]|(?:io )?sono|jag är|jestem|jsem|"
    r"меня зовут|моё имя|мене звати|με λένε|(?:benim )?adım|اسمي|मेरा नाम|שמי|קוראים לי|"
    r"tên tôi là|tôi tên là|我叫|我的名字[是叫]|私の名前は|(?:ผม|ฉัน)ชื่อ|(?:제|내) 이름은) *"
    rf"(?P<name>{_CAPITALIZED}(?: {_CAPITALIZED}){{0,2}}|"
    r"[\u0590-\u097f]+|[\u4e00-\u9fff]{2,3}|[\u30a0-\u30ff]{2,8}|[\uac00-\ud7af]{2,3}(?=[이입예]))",
    re.IGNORECASE,
)
_NO_NAMES = word_set(
    "american argentinian asian australian austrian belgian brazilian british bulgarian canadian catholic chinese "
    "christian colombian croatian czech danish dutch egyptian english estonian finnish french german greek hindu "
    "hungarian indian indonesian iranian irish israeli italian japanese jewish korean latvian lithuanian lutheran "
    "mexican muslim nigerian norwegian pakistani persian peruvian polish portuguese protestant romanian russian "
    "scottish serbian slovenian spanish swedish swiss syrian thai turkish ukrainian vegan vegetarian vietnamese welsh"
)
_BEFORE_OTHERS = word_set("a an any another every no other some that the these this those what which")
"""Before a name they make another one of it: `the Alice river`, `which Bob`."""
_BEFORE_NOUN = r"^user(?= \w)"
"""In keywords: `user phone number`."""
_OWNER_ENDING = re.compile("['\u2019]s\\b")
_PRONOUN, _OWNER = "I", "my"
"""In questions of all languages with spaces: one vector space, and one list of words for the asker, hold them all."""

_KANA, _IDEOGRAPH = re.compile("[\u3040-\u30ff]"), re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class AskedByName:
    """A question that names its asker, as they would ask it themselves; and the folded words of the name in it."""

    text: str
    name_words: tuple[str, ...]


def introduced_name(memory: str) -> str | None:
    """Return the name that a memory says to be the user's own.

    >>> introduced_name("User's name is Alice"), introduced_name("User: Ich heiße Jonas und wohne in Hamburg")
    ('Alice', 'Jonas')
    >>> introduced_name("User is Danish"), introduced_name("User's sister Ines is a doctor")
    (None, None)
    """
    if len(memory) > MAX_MEMORY_CHARS:
        return None
    found = _ENGLISH.match(memory) or _OTHER_LANGUAGES.match(memory) or _IDENTITY.match(memory)
    if found is None or (found.re is _IDENTITY and found["name"].lower() in _NO_NAMES):
        return None
    return found["name"]


def speaker_names(views: Sequence[SegmentView[ChunkColumns]], terms: Collection[int]) -> Iterator[str]:
    """The names of those who speak in passages with one of these terms; the largest segment is looked at."""
    for view in views[:1]:
        for _, found, _ in view.segment.postings.find_all(terms):
            rows = found if view.mask is None else found[view.mask[found.astype(np.intp)]]
            sampled = rows[np.linspace(0, len(rows) - 1, min(_SAMPLED_ROWS, len(rows)), dtype=np.intp)]
            spoken = Counter(name for row in sampled.tolist() for name in _speakers(view.segment.columns.texts[row]))
            yield from (name for name, count in spoken.items() if count >= _MIN_SPOKEN_ROWS)


@lru_cache(maxsize=1024)
def _speakers(text: str) -> frozenset[str]:
    """Find who speaks in a passage; cached, as a question about the same person looks at the same passages."""
    if ":" not in text[:MAX_SPEAKER_NAME_CHARS]:
        return frozenset()
    return frozenset(said.speaker for said in parse_utterances(text) if said.speaker)


def introduced_names(views: Sequence[SegmentView[MemoryColumns]], terms: Collection[int]) -> Iterator[str]:
    """The names with one of these terms that memories introduce, superseded ones too: people keep their names."""
    for view in views:
        columns, postings = view.segment.columns, view.segment.postings
        for _, found, _ in postings.find_all(terms):
            rows = found.astype(np.intp)
            introducing = columns.in_profile[rows] & ~columns.forgotten[rows]
            introducing &= postings.lengths[rows] <= _MAX_ROW_TERMS
            if view.mask is not None:
                introducing &= view.mask[rows]
            for row in rows[introducing][:_MAX_ROWS].tolist():
                if name := introduced_name(columns.texts[row]):
                    yield name


def asked_by_name(question: str, names: Iterable[str]) -> AskedByName | None:
    """Return a question with a pronoun instead of its asker's name; None where it is not about one of these names.

    >>> asked_by_name("Where does Alice's cat sleep?", ["Alice Miller"]).text
    'Where does my cat sleep?'
    >>> asked_by_name("Who is Alice?", ["Alice"]), asked_by_name("Where does Alice Cooper live?", ["Alice"])
    (None, None)
    """
    if asks_about_asker(question):
        return None
    for name in names:
        asked = _without_name(question, name, in_any_case=question == question.lower())
        if asked is not None:
            return asked
    return None


def asked_about_user(question: str, *, reads_pronouns: bool) -> AskedByName | None:
    """Return a question about the user as they would ask it themselves; None where it names no user.

    `reads_pronouns`: take *she* and *his* for the user where the question has no name that they could stand for.

    >>> asked_about_user("What is the user's favorite food?", reads_pronouns=False).text
    'What is my favorite food?'
    >>> asked_about_user("Where does she live?", reads_pronouns=True).text
    'Where does I live?'
    >>> asked_about_user("Where does she live?", reads_pronouns=False)
    """
    stands_for_user = reads_pronouns and not names_asker(question) and not capitalized_names(question)
    for name in ("user", "third_person")[: 1 + stands_for_user]:
        replaced = [found.group() for found in _pattern(name).finditer(question)]
        if replaced:
            asked = _pattern(name).sub(_in_first_person, question)
            return AskedByName(asked, tuple(words(_OWNER_ENDING.sub("", " ".join(replaced)))))
    return None


def asked_of_speakers(question: str, names: Iterable[str]) -> str:
    """Return a question as speakers of the texts would ask it of themselves, where it names them.

    >>> asked_of_speakers("When did Ann join Bob's choir?", ["Ann", "Bob"])
    'When did I join my choir?'
    """
    if asks_about_asker(question):
        return question
    is_typed_small = question == question.lower()
    for name in names:
        asked = _without_name(question, name, in_any_case=is_typed_small)
        question = question if asked is None else asked.text
    return question


def _without_name(question: str, name: str, *, in_any_case: bool) -> AskedByName | None:
    first, *rest = name.split()
    unspaced = is_unspaced_script(first)
    forms = [re.escape(name)] if unspaced else [re.escape(" ".join([first, *rest])), re.escape(first)]
    pattern = "|".join(forms) if unspaced else rf"(?<!\w)(?:{'|'.join(forms)})(?P<owner>['\u2019]s)?(?!\w)"
    found = re.search(pattern, question, re.IGNORECASE if in_any_case else 0)
    if found is None:
        return None
    before, after = question[: found.start()].split(), question[found.end() :].split()
    is_other = (before and before[-1].lower() in _BEFORE_OTHERS) or (after and after[0][:1].isupper())
    name_words = tuple(words(found.group().removesuffix("'s").removesuffix("\u2019s")))
    if not unspaced and (is_other or set(content_words(words(question))) <= set(name_words)):
        return None
    instead = _own_word(question if unspaced else "", is_owner=not unspaced and found["owner"] is not None)
    return AskedByName(f"{question[: found.start()]}{instead}{question[found.end() :]}", name_words)


def _in_first_person(found: re.Match[str]) -> str:
    return _own_word(found.group(), is_owner=found["owner"] is not None)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    subjects, owners = (list_pattern(part.split(), as_written=True) for part in read_list(name).split("\n\n"))
    return re.compile(f"(?P<owner>{_BEFORE_NOUN}|{owners})|{subjects}", re.IGNORECASE)


def _own_word(named: str, *, is_owner: bool) -> str:
    """Return the word by which askers name themselves, in a language of the script in which others name them.

    >>> _own_word("Alice", is_owner=True), _own_word("田中", is_owner=False)
    ('my', '我')
    """
    if _KANA.search(named):
        return "私の" if is_owner else "私"
    if _IDEOGRAPH.search(named):
        return "我的" if is_owner else "我"
    return _OWNER if is_owner else _PRONOUN

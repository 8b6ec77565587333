"""Words of everyday statements in 22 languages: relatives and friends, the speaker, questions, changes and times."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from unicodedata import normalize

from pipeline.text.analyzer import WORD_WITH_ACCENTS, words
from pipeline.text.english_verbs import word_set
from pipeline.text.stopwords import stopwords
from pipeline.text.word_lists import list_meanings, list_pattern, read_list

_WORD = re.compile(r"[\w'\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0d7f\u0e00-\u0e7f]+")
_CLOCK_TIME = re.compile(r"\b(?:[01]?\d|2[0-3])[:.h][0-5]\d\b(?![.:]\d)")
_DAY = re.compile(r"(?<![\d.,])(?:0?[1-9]|[12]\d|3[01])[./](?:0?[1-9]|1[0-2])(?![\d,])")
_LOWER_WORD = re.compile(r"\b[^\W\d_A-Z]{2,}\b")
_DIGIT = re.compile(r"[\d@]")
_PHONE_NUMBER = re.compile(r"(?:\d[ ()./-]{0,3}){6}")
"""At least six digits in a row, however they are grouped."""
_NUMBER_NAMED = re.compile(
    r"n[uú]mer|numéro|nummer|number|номер|αριθμ|رقم|מספר|नंबर|番号|号码|번호|หมายเลข|เบอร์|số", re.IGNORECASE
)
_NAME_GAP = re.compile(r",? ")
_CAPITALIZED = re.compile(r"[^\W\d_][^ .?!]* +[\"'¿(]*(?!I\b)[A-ZÀ-ÖØ-ÞĄ-ŽΑ-ΩА-ЯЁЄІЇҐ]")
_OF = frozenset(
    {"of", "de", "da", "do", "di", "del", "della", "van", "von", "của", "meiner", "meines", "unserer", "unseres"}
)
_UNOWNED = re.compile(r"[\u0590-\u07ff\u0e00-\uffef]")
"""Scripts of languages in which a relative is the asker's without a word for it, or by the word's own ending."""
_SENTENCE_END = re.compile(r"[.!?:\n\"'\u201c\u201e\u00ab(\u00bf\u00a1]\s*$|[.!?:]\s")
_ENGLISH_DAY = re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?")
_NAME_CHARS = 3
_SUBJECT_WORDS = 3
_OWNED_SUBJECT_WORDS = 6
"""Words of a text that may name its subject, and where one of the first is *of*."""
_BEGIN_WORDS = 2
_STATEMENT_WORDS = 4
"""Words of a note about a relative: `kinder sind laut` is of all children."""
_SUBJECT_MAX_CHARS = 48
_NOTE_CHARS = 160
"""Longest text in which "number" is that of a phone ("the plumber's number is in the blue notebook")."""
_ONE_QUESTION = re.compile(
    r"(?:[^.!?,;:\n\u2026\u3002\uff01\uff1f\u061f\u060c\u3001\uff0c]|[.,:](?=\w))+[?\uff1f\u061f]+\s*"
)
"""A question without a clause before it."""
_SPEAKER = re.compile(r"[^\s:][^\n:]{0,39}:\s+")
_CACHED_TEXTS = 4096


@lru_cache(maxsize=_CACHED_TEXTS)
def has_change_word(text: str) -> bool:
    """Return whether a statement says in another language than English that something is now other than it was.

    >>> has_change_word("Ich bin nach Wien gezogen."), has_change_word("Ich wohne in Hamburg.")
    (True, False)
    """
    return _pattern("changes").search(_spaced(text)) is not None


@lru_cache(maxsize=_CACHED_TEXTS)
def relative_in_subject(text: str) -> str:
    """Return the relative or friend whom a statement is about, as it names them; empty where it is about no one such.

    >>> relative_in_subject("Meine Schwester ist nach Lyon gezogen."), relative_in_subject("L'anniversaire de ma femme")
    ('schwester', 'femme')
    >>> relative_in_subject("Ich wohne bei meiner Schwester."), relative_in_subject("Der Chef meiner Frau geht.")
    ('', 'frau')
    """
    first, *_ = text[:_SUBJECT_MAX_CHARS].split(",")
    words = _words(first)
    if len(words) < _SUBJECT_WORDS:  # `übrigens, meine Schwester`; not `saí do coral, meu filho`
        words = _words(text[:_SUBJECT_MAX_CHARS])
    count = _SUBJECT_WORDS if _OF.isdisjoint(words[1:3]) else _OWNED_SUBJECT_WORDS
    *_, last = ["", *(match.group() for match in _pattern("relatives").finditer(f" {' '.join(words[:count])} "))]
    return last.strip()


@lru_cache(maxsize=_CACHED_TEXTS)
def tells_of_own(text: str) -> bool:
    """Return whether a note in another language than English begins with a relative, or a thing with a time or number.

    >>> tells_of_own("miete geht auf 890 hoch"), tells_of_own("Der Bus kommt gleich")
    (True, False)
    """
    words = _words(text)
    begin = f" {' '.join(words[:_BEGIN_WORDS])} "
    if _pattern("relatives").search(begin) is not None:
        return len(words) >= _STATEMENT_WORDS or not text.isascii()
    return _pattern("own_things").search(begin) is not None and (says_time(text) or says_number(text))


@lru_cache(maxsize=_CACHED_TEXTS)
def adds_to_others(text: str) -> bool:
    """Return whether a statement says in another language than English that it holds beside what was said before.

    >>> adds_to_others("Ab jetzt arbeite ich auch mittwochs"), adds_to_others("Ab jetzt arbeite ich mittwochs")
    (True, False)
    """
    return _pattern("added").search(_spaced(text)) is not None


@lru_cache(maxsize=_CACHED_TEXTS)
def asks_for_person(question: str) -> bool:
    """Return whether a question asks who somebody is.

    >>> asks_for_person("Who calls me on Sundays?"), asks_for_person("When do I call?")
    (True, False)
    """
    return _pattern("who").search(_spaced(question)) is not None


@lru_cache(maxsize=_CACHED_TEXTS)
def asks_about_asker(question: str) -> bool:
    """Return whether a question names who asks it, and no relative or friend of theirs.

    >>> asks_about_asker("What is my job?"), asks_about_asker("What is my sister's job?")
    (True, False)
    """
    return names_asker(question) and _pattern("relatives").search(_spaced(question)) is None


def names_asker(question: str) -> bool:
    """Return whether a question has a word for who asks it, or for what is theirs.

    >>> names_asker("What is my sister's job?"), names_asker("Who is the mayor?")
    (True, False)
    """
    spaced = _spaced(question)
    return any(_pattern(words).search(spaced) for words in ("asker", "owned"))


@lru_cache(maxsize=_CACHED_TEXTS)
def is_general_question(text: str) -> bool:
    """Return whether a text, after its speaker, is one question that tells nothing of the asker in passing.

    >>> is_general_question("user: is a bicycle or a car better?"), is_general_question("What does my cat Milo eat?")
    (True, False)
    """
    said = _SPEAKER.sub("", text, count=1).strip("\u00bf ")
    if _ONE_QUESTION.fullmatch(said) is None:
        return False
    return not any(_pattern(words).search(_spaced(said)) for words in ("asker", "owned", "we"))


def asked_relations(question: str) -> frozenset[int]:
    """Return the relation of the asker's relative whom a question is about; empty where it may be about others as well.

    "Who looks after my daughter?" and "Where did I meet my wife?" are answered by statements about somebody else, and
    "What does my sister's son like?" by one about a nephew.

    >>> asked_relations("What is my wife's name?") == told_relations("Meine Frau kocht gern.")
    True
    >>> asked_relations("Who looks after my daughter?"), asked_relations("What does my sister's son like?")
    (frozenset(), frozenset())
    """
    relations, spaced = told_relations(question), _spaced(question)
    if not relations or asks_for_person(question) or names_two_relatives(question) or _pattern("we").search(spaced):
        return frozenset()
    relatives = {match.start() for match in _pattern("relatives").finditer(spaced)}
    if any(match.end() not in relatives for match in _pattern("asker").finditer(spaced)):  # 我女儿 is a relative
        return frozenset()
    return relations if _UNOWNED.search(question) or _pattern("owned").search(spaced) else frozenset()


def names_two_relatives(question: str) -> bool:
    """Return whether a question names two relatives or friends, who may be a third one ("my sister's son", a nephew).

    >>> names_two_relatives("¿Cómo se llama la mujer de mi hermano?"), names_two_relatives("How old is my son?")
    (True, False)
    """
    return len(_pattern("relatives").findall(_spaced(question))) > 1


@lru_cache(maxsize=_CACHED_TEXTS)
def told_relations(text: str) -> frozenset[int]:
    """Return the relations of all relatives and friends whom a text names; empty where one may be anybody's.

    >>> len(told_relations("My sister and my boss")), len(told_relations("My family"))
    (2, 0)
    """
    named = [
        list_meanings("relatives")[match.group().strip()] for match in _pattern("relatives").finditer(_spaced(text))
    ]
    return frozenset[int]().union(*named) if all(named) else frozenset()


def names_somebody(question: str) -> bool:
    """Return whether a question names a relative or friend, or has a capitalized word that does not begin it.

    >>> names_somebody("Where does Sami live?"), names_somebody("Wo wohnt Oma?"), names_somebody("Where is it?")
    (True, True, False)
    """
    return _CAPITALIZED.search(question) is not None or _pattern("relatives").search(_spaced(question)) is not None


def capitalized_names(question: str) -> list[str]:
    """Return the words of a question that are capitalized within a sentence, but days and months; none of a German one.

    >>> capitalized_names("When is Karin's concert in Nairobi on Monday?"), capitalized_names("Wo liegt mein Handy?")
    (['Karin', 'Nairobi'], [])
    """
    composed = normalize("NFC", question)
    if not _german_words().isdisjoint(words(question)):
        return []
    return [
        word.group()
        for before, word in pairwise(WORD_WITH_ACCENTS.finditer(composed))
        if len(word.group()) >= _NAME_CHARS
        and word.group()[0].isupper()
        and not word.group().isupper()
        and _SENTENCE_END.search(composed, before.end(), word.start()) is None
        and _ENGLISH_DAY.fullmatch(word.group()) is None
        and _pattern("months").search(_spaced(word.group())) is None
    ]


@cache
def _german_words() -> frozenset[str]:
    """Return German words without a topic that are none in English: nouns are capitalized beside them."""
    return frozenset(part for word in stopwords("german") - stopwords("english") for part in words(word))


@lru_cache(maxsize=_CACHED_TEXTS)
def named_beings(text: str) -> frozenset[str]:
    """Return the relations and the sorts of animals that a text names.

    >>> named_beings("Notre chatte s'appelle Praline.") == named_beings("What is our cat's name?")
    True
    >>> named_beings("What is our dog's name?") & named_beings("Our cat is called Praline.")
    frozenset()
    """
    return frozenset(
        f"{name} {relation}"
        for name in ("relatives", "animals")
        for match in _pattern(name).finditer(_spaced(text))
        for relation in list_meanings(name)[match.group().strip()]
    )


@lru_cache(maxsize=_CACHED_TEXTS)
def has_plan_word(text: str) -> bool:
    """Return whether a statement says in another language than English that something is a plan or a wish.

    >>> has_plan_word("Nächstes Jahr ziehen wir nach Oslo."), has_plan_word("Wir sind nach Oslo gezogen.")
    (True, False)
    """
    return _pattern("plans").search(_spaced(text)) is not None


def asks_about_asker_alone(question: str) -> bool:
    """Return whether a question is about who asks it, names nothing as theirs, and asks for no other person.

    >>> asks_about_asker_alone("Where do I live?"), asks_about_asker_alone("Where does our boy live?")
    (True, False)
    >>> asks_about_asker_alone("Who calls me on Sundays?")
    False
    """
    alone = asks_about_asker(question) and _pattern("owned").search(_spaced(question)) is None
    return alone and not asks_for_person(question)


@lru_cache(maxsize=_CACHED_TEXTS)
def asks_when(question: str) -> bool:
    """Return whether a question asks for a time in another language than English.

    >>> asks_when("Seit wann wohne ich hier?"), asks_when("Wo wohne ich?")
    (True, False)
    """
    return _pattern("when").search(_spaced(question)) is not None


@lru_cache(maxsize=_CACHED_TEXTS)
def says_time(text: str) -> bool:
    """Return whether a text says a time in another language than English, or by a clock.

    >>> says_time("Mi vuelo sale el jueves"), says_time("um 6:40"), says_time("Ich wohne in Graz")
    (True, True, False)
    """
    return _CLOCK_TIME.search(text) is not None or _pattern("times").search(_spaced(text)) is not None


@lru_cache(maxsize=_CACHED_TEXTS)
def says_date(text: str) -> bool:
    """Return whether a text names a month in another language than English, or a day by its number.

    >>> says_date("On se marie en juin"), says_date("am 3.12. in Graz"), says_date("On se voit jeudi")
    (True, True, False)
    """
    return _DAY.search(text) is not None or _pattern("months").search(_spaced(text)) is not None


@lru_cache(maxsize=_CACHED_TEXTS)
def weekdays(text: str) -> frozenset[int]:
    """Return the days of the week that a text names in another language than English, Monday first.

    >>> sorted(weekdays("martes y jueves")), sorted(weekdays("előzőleg pénteken"))
    ([1, 3], [4])
    """
    named = (list_meanings("weekdays")[match.group().strip()] for match in _pattern("weekdays").finditer(_spaced(text)))
    return frozenset[int]().union(*named)


def with_digits(text: str) -> str:
    """Return a text in another language than English with digits for its numerals from two to twelve.

    >>> with_digits("Ceno a las ocho con dos amigos"), with_digits("wir haben zwei Kater")
    ('Ceno a las 8 con dos amigos', 'wir haben 2 Kater')
    """
    return _LOWER_WORD.sub(lambda word: _digits().get(word[0], word[0]), text)


@cache
def _digits() -> dict[str, str]:
    return {word: str(2 + number) for word, numbers in list_meanings("numerals").items() for number in numbers}


@lru_cache(maxsize=_CACHED_TEXTS)
def asks_for_number(question: str) -> bool:
    """Return whether a question asks for something written with digits or numerals: a phone number, an age, a price.

    >>> asks_for_number("Welche Telefonnummer hat Olga?"), asks_for_number("How many of us are there?")
    (True, False)
    """
    return _pattern("number_asked").search(_spaced(question)) is not None


@lru_cache(maxsize=_CACHED_TEXTS)
def says_number(text: str) -> bool:
    """Return whether a text has a digit, a numeral or an e-mail address, or speaks of a number or price.

    >>> says_number("Oma wird im Mai neunzig."), says_number("Oma wohnt in Graz.")
    (True, False)
    """
    return _DIGIT.search(text) is not None or _pattern("numbers").search(_spaced(text)) is not None


def asks_for_contact(question: str) -> str:
    """Return whether a question asks for a phone number or an e-mail address: `phone`, `email` or empty.

    >>> asks_for_contact("Quel est le numéro de téléphone de Léa ?"), asks_for_contact("Which phone does Sam use?")
    ('phone', '')
    """
    spaced = _spaced(question)
    return next((kind for kind in ("phone", "email") if _pattern(f"{kind}_asked").search(spaced)), "")


def says_contact(text: str, kind: str) -> bool:
    """Return whether a text has a phone number or an e-mail address, or speaks of one.

    >>> says_contact("Call me: 0171 234 5678", "phone"), says_contact("The office has 12 rooms", "phone")
    (True, False)
    """
    if kind == "email":
        return "@" in text or asks_for_contact(text) == kind
    is_named = len(text) <= _NOTE_CHARS and _NUMBER_NAMED.search(text) is not None
    return is_named or _PHONE_NUMBER.search(text) is not None


def names_directly(text: str, beings: frozenset[str]) -> bool:
    """Return whether a text names one of these relatives or animals by a capitalized word right after it.

    >>> names_directly("My nephew Otto turns six", named_beings("my nephew"))
    True
    >>> names_directly("My sister has a nephew. He is six", named_beings("my nephew"))
    False
    """
    spaced, found = _spaced(text), list(_WORD.finditer(text))
    for name in ("relatives", "animals"):
        for match in _pattern(name).finditer(spaced):
            after = spaced[: match.end()].count(" ")
            relations = list_meanings(name)[match.group().strip()]
            if after < len(found) and not beings.isdisjoint(f"{name} {relation}" for relation in relations):
                word, between = found[after].group(), text[found[after - 1].end() : found[after].start()]
                if _NAME_GAP.fullmatch(between) and word[0].isupper() and len(word) > 1 and "'" not in word[:2]:
                    return True
    return False


def named_relatives(text: str) -> list[str]:
    """Return the speaker's relatives whom a text names, with the word that makes them theirs and the name.

    >>> named_relatives("Mein Mann Hauke kocht, die Frau Meier nicht"), named_relatives("istri saya Dewi kerja")
    (['Mein Mann Hauke'], ['istri saya Dewi'])
    """
    return [phrase for phrase, name, _ in _owned("relatives", text) if name]


def named_people(text: str) -> Iterator[tuple[str, frozenset[int]]]:
    """Yield the names of relatives and friends that a statement tells, in small letters, with their relations.

    >>> [name for name, _ in named_people("Mein Sohn Lars wohnt in Dresden")]
    ['lars']
    >>> [name for name, _ in named_people("Mi jefa se llama Amparo")], list(named_people("My sister lives in Porto"))
    (['amparo'], [])
    """
    spaced, found = _spaced(text), [word.group() for word in _WORD.finditer(text)]
    relatives = list(_pattern("relatives").finditer(spaced))
    for match in relatives:
        after = spaced[: match.end()].count(" ")
        is_called = after < len(found) - 1 and found[-2].lower() in _CALLED and len(relatives) == 1
        name = found[-1] if is_called else "".join(found[after : after + 1])
        if name and _is_name(name):
            yield name.lower(), list_meanings("relatives")[match.group().strip()]


_CALLED = word_set("called named heißt heisst s'appelle llama chiama chama heet heter hedder jmenuje nazywa зовут")


def own_relatives(text: str) -> list[tuple[str, bool]]:
    """Return the speaker's people and animals in a request, as it names them, and whether it tells a name or an age.

    >>> own_relatives("was koche ich mit meiner Tochter Lina (7) und meinem Vater?")
    [('meiner Tochter Lina (7)', True), ('meinem Vater', False)]
    >>> own_relatives("un libro per mio nipote di 5 anni")
    [('mio nipote di 5 anni', True)]
    """
    found: list[tuple[str, bool]] = []
    for phrase, name, end in (*_owned("relatives", text), *_owned("animals", text)):
        age = _age_after().match(text, end)
        found.append((f"{phrase}{age[0]}" if age is not None else phrase, name != "" or age is not None))
    return found


def names_own_at_begin(text: str) -> bool:
    """Return whether a statement is about one of the speaker's people or animals.

    >>> names_own_at_begin("meinen Hund, er ist brav"), names_own_at_begin("ich habe einen Hund")
    (True, False)
    """
    return relative_in_subject(text) != "" or any(text.startswith(phrase) for phrase, _ in own_relatives(text))


def only_relative(text: str) -> str:
    """Return the only one of the speaker's people whom a request names, as it names them; empty if there is none.

    >>> only_relative("que regalo a mi hermana Ana"), only_relative("mi hermana y mi madre"), only_relative("dla mamy")
    ('mi hermana Ana', '', 'mamy')
    """
    owned = list(dict.fromkeys(phrase for phrase, _ in own_relatives(text)))
    named = owned or list(dict.fromkeys(_bare_relatives(text)))
    return named[0] if len(named) == 1 else ""


def _bare_relatives(text: str) -> Iterator[str]:
    """Yield relatives that are the speaker's without a word for it: `dla mamy`, `pentru tata`."""
    spaced = _spaced(text)
    for match in _pattern("relatives").finditer(spaced):
        *_, before = ["", *spaced[: match.start()].split()]
        if before in _BEFORE_BARE or _UNOWNED.search(match.group()) is not None:
            yield match.group().strip()


_BEFORE_BARE = word_set("dla do od z ze pro k ke s se u za pentru cu для у с к от про з подарить")
"""Prepositions of languages without articles, in which a relative is the speaker's without a word for it."""


def _owned(kind: str, text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the speaker's relatives or animals with the word that makes them theirs, a name if any, and their end."""
    spaced, found = _spaced(text), list(_WORD.finditer(text))
    for match in _pattern(kind).finditer(spaced):
        first, name = spaced[: match.start()].count(" "), spaced[: match.end()].count(" ")
        if name < len(found) and found[name].group() in _OWNERS_AFTER:
            name += 1
        elif first > 0 and _pattern("owned").match(_spaced(found[first - 1].group())):
            first -= 1
        elif _OWNED_BY_ENDING.search(match.group()) is None and not _has_owner(match.group()):
            continue
        last, named = found[name - 1], ""
        if name < len(found) and _is_name(found[name].group()):
            is_next = _NAME_GAP.fullmatch(text[last.end() : found[name].start()]) is not None
            last, named = (found[name], found[name].group()) if is_next else (last, "")
        yield text[found[first].start() : last.end()], named, last.end()


@cache
def _age_after() -> re.Pattern[str]:
    """Return the pattern of an age behind whom it is of: `(7)`, `de 3 años`, `van 8 jaar`."""
    return re.compile(rf" \(\d{{1,2}}\)| (?:de|di|d'|von|van|på)? ?\d{{1,2}} (?:{_YEARS})\b", re.IGNORECASE)


_YEARS = "jahren?|ans|mois|años|meses|anni|mesi|anos|jaar|maanden|år|lat|miesięcy|let|godin[ae]|лет|года?|ani|luni"


def _has_owner(listed: str) -> bool:
    """Return whether a relative stands in the list with the word that makes them the speaker's: `mijn man`."""
    return any(_pattern("owned").match(_spaced(word)) for word in listed.split()[:1])


def _is_name(word: str) -> bool:
    return word[0].isupper() and word[1:].islower() and _OF_NOUNS.search(word) is None


_OWNED_BY_ENDING = re.compile("(?:ni|[aáeéoöiıuü]m|ku)$")
"""Endings of Finnish, Hungarian, Turkish and Indonesian relatives that are the speaker's."""
_OWNERS_AFTER = frozenset({"saya", "kami", "aku"})
_OF_NOUNS = re.compile(r"(?:tag|ung|heit|keit|schaft|chen|eit|nis|and|ing)$")
"""Endings of German nouns, which have a capital as names do."""


def _words(text: str) -> list[str]:
    words = _WORD.findall(text.casefold().replace("\u2019", "'"))
    return [word.removesuffix("'s") for word in words]


def _spaced(text: str) -> str:
    return f" {' '.join(_words(text))} "


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(list_pattern(read_list(name).casefold().split()))

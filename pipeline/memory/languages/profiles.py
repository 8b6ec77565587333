"""Languages other than English: what somebody says of themselves is kept in their own words.

Nothing is resolved or dated there: a sentence is a memory as it was said, after who said it. One that says several
things is split, so that a change replaces no more than what has changed.

Each language has a file of word patterns. `own`: the speaker; `hedges`: doubts, requests, greetings and the person
addressed; `asks`: questions, which many write without a mark; `lasting`: what is so for long; `openings`: words that
join a sentence to the one before; `introduces`: openings in which somebody says their name; `continues`: openings that
name what the sentence before is about; `light`: verbs and other words that two statements may share without being
about the same; `points`: pronouns of what was said before; `others`: begins of sentences about whom the one before
named; `after_name`: verbs after a name; `public`: whom an institution addresses; `journals`, `salutes` and
`farewells`: titles, first and last words of journals and letters; `says`: verbs of what others said; `of_speaking`:
days that are no time by themselves; `subordinating`: words that join a clause to the one before, `because` a reason;
`before_subject`: prepositions and verbs that stand before a subject; `articles`, `definite_articles`, `titles` and
`plural_verbs`: words around a noun or name; `tags`: what makes a question of a statement; `years`: the word after an
age; `home` and `job`: where somebody lives, and that they work; `ended`, `moved`, `new_job`, `altered`, `begun` and
`corrects`: what is over or has changed; `past`, `planned` and
`denied`: what was, will be or is not so; `answers` and `always`: what an assistant does, and that it is for every
answer; `rules`: what a document says is allowed, due or free; `before_places`: prepositions before the name of a
place; `pretences` and `ends_pretence`: the begin and the end of role play; `stories`: orders to write one; `verses`:
what songs and poems are called.
`orders`: how a clause orders or asks something of who listens; `seeks`: what its speaker looks for; `roles`: words
before or after what somebody is, as which they ask, and `being` those that state it; `pronouns`: begins of what is said
of whom a request named; `without`: words before what is left out; `ends_clause`: verbs behind which a clause ends.
`has_spaces = false`: words are found within others.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.text.statement_words import (
    names_own_at_begin,
    relative_in_subject,
)
from pipeline.text.stopwords import stopwords

_FOLDER = Path(__file__).parent
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
SCRIPTS = {"ja": re.compile("[\u3040-\u30ff]"), "zh": re.compile("[\u4e00-\u9fff]")}
_WITH_STOPWORDS = {
    "cs": "czech", "de": "german", "es": "spanish", "fi": "finnish", "fr": "french", "hu": "hungarian",
    "id": "indonesian", "it": "italian", "nl": "dutch", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
QUESTION_MARK = re.compile("[?\uff1f\u061f;\u037e]\\s*$|\u00bf|か\\W*$")
_COLON_WITHIN = re.compile("[:\uff1a] ")
_PREPOSITION_CHARS = 2
"""Letters of a word that joins a part of an introduction to the one before: `de Sevilla`."""
_MIN_CJK_TRAIT_CHARS = 3
MIN_GREETING_CHARS = 4
"""Letters of an opening that is of one language only: `hoi, `, not `a `."""
END = " .!\u3002\uff01\u2026\u0964"
_BETWEEN = re.compile(r"([,;\uff0c\u3001\u060c] *| (?:und|et|y|e|i|en|och|og|и|і|та|και|ve|și) )")
_PAUSE = "[,.!:\\s\u2026\u2013\uff0c\u3001\u3002\uff01\u060c-]+"
_NEVER = re.compile("(?!)")
COMMAS = re.compile("[,;\uff0c\u3001\u060c] *")
_LINKED = re.compile("(?:が|けど|ので|から)$")
"""What joins a Japanese statement to a question."""
_MIN_WORDS_WITHOUT_STOP = 16
_MIN_WORDS_BEFORE_DOUBT = 2
_MAX_FAREWELL_SPACES = 2
"""Spaces in what somebody says last, after a word that ends their talk."""
_MAX_TOPIC_CHARS = 4
"""Letters of a word that stands before its sentence."""
_MAX_QUESTION_SPACES = 3
"""Spaces in a question of few words behind a comma: `mi hija cumple 15, ideas?`."""


@dataclass(frozen=True, slots=True)
class LanguageProfile:
    """Patterns of personal, stating and permanent sentences, and the words that join a sentence to others."""

    stopwords: frozenset[str]
    being: str
    own: re.Pattern[str]
    hedges: re.Pattern[str]
    asks: re.Pattern[str]
    lasting: re.Pattern[str]
    openings: re.Pattern[str]
    home: re.Pattern[str]
    introduces: re.Pattern[str]
    points: re.Pattern[str]
    orders: re.Pattern[str]
    seeks: re.Pattern[str]
    roles: re.Pattern[str]
    pronouns: re.Pattern[str]
    without: re.Pattern[str]
    past: re.Pattern[str]
    ends_clause: re.Pattern[str]

    def statements(self, text: str) -> list[str]:
        """Split what somebody says of themselves at commas and *and*, where each part says one thing.

        >>> from pipeline.memory.languages.language_detection import detect_language
        >>> detect_language("Ich lebe in Graz").statements("Ich bin Karl, 34, Koch in Graz und habe zwei Kinder")
        ['Ich bin Karl, 34', 'Koch in Graz', 'habe zwei Kinder']
        """
        first, *rest = _BETWEEN.split(text)
        is_topic = " " not in first and len(first) <= _MAX_TOPIC_CHARS and first.lower() != first.upper()
        if rest and is_topic:  # `Moi, je chante`
            first, rest = f"{first}{rest[0]}{rest[1]}", rest[2:]
        found = [first]
        is_introduction = self.is_introduction(text)
        for separator, part in zip(rest[::2], rest[1::2], strict=True):
            is_trait = is_introduction and separator[0] != " " and self._is_trait(part)
            # "Meine Schwester wohnt in Kiel und arbeitet bei der Post": the verb is the sister's.
            is_relatives = names_own_at_begin(found[-1]) and not self._has_own_subject(part)
            is_introduced = is_introduction or self._names_speaker(found[-1])
            is_statement = is_introduced and not is_relatives and self._stands_alone(part)
            if is_trait or is_statement:
                found.append(part)
            else:
                found[-1] += separator + part
        return found

    def without_stops(self, text: str) -> list[str]:
        """Split what somebody talks without stops where another clause begins with who does something.

        What goes on with `he` or `she` stays with whom the clause before has named.

        >>> from pipeline.memory.languages.language_detection import detect_language
        >>> said = "j'ai eu mon permis hier au troisième essai et du coup je cherche une petite voiture pas chère"
        >>> detect_language(said).without_stops(said)
        ["j'ai eu mon permis hier au troisième essai", 'et du coup je cherche une petite voiture pas chère']
        """
        if _UNSPACED.search(text) is not None:
            return text.split() if len(text) >= _MIN_UNSPACED_CHARS else [text]
        if text.count(" ") < _MIN_WORDS_WITHOUT_STOP or COMMAS.search(text):
            return [text]
        parts: list[str] = []
        begin, at = 0, text.find(" ")
        while at >= 0:
            joined = self.openings.match(text[at + 1 :]) or _because().match(text[at + 1 :])
            word = joined[0] if joined is not None else ""
            if text.count(" ", at + 1 + len(word)) < _MAX_FAREWELL_SPACES and len(word.strip()) >= MIN_GREETING_CHARS:
                return [*parts, text[begin:at]]  # `bueno llámame`
            is_reason = word != "" and _because().match(word) is not None
            is_begin = self._begins_clause(text[at + 1 + len(word) :]) if word else self._begins_anew(text, at + 1)
            is_begin = is_begin and not (is_reason and self.own.search(" ".join(text[at + 1 :].split()[:4])) is None)
            if is_begin and count_words(text[begin:at]) >= _MIN_CLAUSE_WORDS:
                parts.append(text[begin:at])
                begin = at + 1
            at = text.find(" ", at + 1 + len(word))
        return [*parts, text[begin:]]

    def _begins_clause(self, text: str) -> bool:
        """Return whether a text after a joining word says who does something, and goes on for some words."""
        is_somebody = any(kind.match(text) for kind in (self.own, self.hedges, _NAME_OR_THING))
        begin = text.split()[:_MIN_CLAUSE_WORDS]
        is_somebody = is_somebody or relative_in_subject(" ".join(begin)) != ""
        is_somebody = is_somebody or any(map(self.own.fullmatch, begin[1:2]))  # `y ahora estoy en casa`
        return is_somebody and count_words(text) >= _MIN_CLAUSE_WORDS

    def _begins_anew(self, text: str, at: int) -> bool:
        """Return whether a clause begins there without a joining word: with `I`, and not within another."""
        *_, before = ["", *text[:at].split()]
        if self.ends_clause.fullmatch(before) is not None:
            return self._names_somebody(text[at:])
        is_within = any(words_of_all(kind).fullmatch(before) for kind in ("before_subject", "subordinating"))
        return not is_within and _SPEAKER.match(text, at) is not None and self.own.match(text, at) is not None

    def _names_somebody(self, text: str) -> bool:
        """Return whether a text begins with the speaker, a relative or a name."""
        begin = " ".join(text.split()[:_MIN_CLAUSE_WORDS])
        is_own = _FIRST_LAST.match(begin) is not None or relative_in_subject(begin) != ""
        return is_own or _NAME_OR_THING.match(text) is not None

    def without_doubt(self, text: str) -> str:
        """Return what is said before a part that is doubted; the whole where one word doubts it.

        >>> from pipeline.memory.languages.language_detection import detect_language
        >>> spanish = detect_language("yo sigo en paro")
        >>> spanish.without_doubt("yo sigo en el paro, a ver si sale algo"), spanish.without_doubt("me mudo, quizás")
        ('yo sigo en el paro', 'me mudo, quizás')
        """
        for comma in COMMAS.finditer(text):
            part = COMMAS.split(text[comma.end() :], maxsplit=1)[0]
            if self.hedges.search(part) is not None:
                is_whole = " " in part and count_words(text[: comma.start()]) >= _MIN_WORDS_BEFORE_DOUBT
                return text[: comma.start()] if is_whole else text
        return text

    def before_question(self, text: str) -> str:
        """Return what a question says before it asks; empty if it says nothing.

        >>> from pipeline.memory.languages.language_detection import detect_language
        >>> detect_language("Ich wohne hier").before_question("ich bin Veganer, was kann ich backen?")
        'ich bin Veganer'
        """
        *before, last = COMMAS.split(text)
        if words_of_all("tags").fullmatch(last.strip(" ?")):
            return ""  # `pasamos a martes, no?`
        is_asked = self.asks.search(last) is not None or self.hedges.search(last) is not None
        is_question = is_asked or last.rstrip(" ?").count(" ") < _MAX_QUESTION_SPACES
        return _LINKED.sub("", ", ".join(before)) if is_question else ""

    def without_question(self, text: str) -> str:
        """Return what is said before a last part that asks without a mark.

        >>> from pipeline.memory.languages.language_detection import detect_language
        >>> detect_language("yo vivo aquí").without_question("abro una tienda en enero, qué licencia necesito")
        'abro una tienda en enero'
        """
        *before, last = COMMAS.split(text)
        return ", ".join(before) if before and self.asks.search(last) is not None else text

    def after_comma(self, text: str) -> str:
        """Return what is said after a first part that tells nothing; empty where any part doubts or asks.

        >>> from pipeline.memory.languages.language_detection import detect_language
        >>> detect_language("jag bor i Lund").after_comma("här är det kaos, Pontus har fått sparken")
        'Pontus har fått sparken'
        """
        is_sound = not any(kind.search(text) for kind in (self.hedges, self.asks, _COLON_WITHIN))
        return COMMAS.split(text, maxsplit=1)[1] if is_sound and COMMAS.search(text) is not None else ""

    def is_introduction(self, text: str) -> bool:
        """Return whether somebody says their name, or their age between commas, with more about themselves.

        >>> from pipeline.memory.languages.language_detection import detect_language
        >>> detect_language("Mam psa").is_introduction("Marek, 46 lat, elektryk z Białegostoku")
        True
        """
        return self.introduces.match(text) is not None or _age_between_commas().match(text) is not None

    def _is_trait(self, part: str) -> bool:
        """Return whether a part of an introduction says something by itself: `36 ans`, `Koch in Graz`, not a name."""
        if part.lower() == part.upper():  # a script without capitals, or a number alone
            return not part.isdigit() and len(part) >= _MIN_CJK_TRAIT_CHARS
        if part[0].isdigit() or self._stands_alone(part):
            return True
        first, *others = part.split()
        return len(first) > _PREPOSITION_CHARS and any(word[0].islower() for word in (first, *others))

    def _stands_alone(self, part: str) -> bool:
        is_about_speaker = self.lasting.search(part) is not None and self._names_speaker(part)
        is_whole = self.points.search(part) is None and words_of_all("continues").match(part) is None
        return is_about_speaker and is_whole

    def _has_own_subject(self, part: str) -> bool:
        """Return whether a part begins with a word for the speaker, not with a verb: `ich wohne`, not `wohne`."""
        return self.own.match(part) is not None and not (self.lasting.match(part) or self.home.match(part))

    def _names_speaker(self, part: str) -> bool:
        """Return whether a part begins with the speaker, or with a verb that means them alone."""
        return (self.own.match(part) or self.lasting.match(part) or self.home.match(part)) is not None

    def without_opening(self, text: str) -> str:
        """Return a sentence without the words that join it to what was said before: `und`, `pero`."""
        return self.openings.sub("", text)


_MIN_CLAUSE_WORDS = 3
_MIN_UNSPACED_CHARS = 40
"""Characters of a text in a script without spaces whose spaces stand for stops."""
_SPEAKER = re.compile(r"(?:ich|wir|je|j'\w+|nous|yo|io|eu|ik|jag|я|мы) (?!(?:und|et|y|e|en|och|и)\b)", re.IGNORECASE)
_FIRST_LAST = re.compile(r"(?:ben|biz|benim|bizim)\b", re.IGNORECASE)
"""The speaker where verbs stand last, in Turkish."""
_NAME_OR_THING = re.compile(
    r"(?:(?:der|die|das|de|het|o|a|le|la|el|il) )?[^\W\d_a-z][^\W\d_A-Z]+ (?:der |die )?"
    r"(?!(?:und|et|y|e|en|och|i)\b)(?=[^\W\d_A-Z])"
)
"""A name, or a German noun with its article, and a word that may be its verb."""


def count_words(text: str) -> int:
    """Return how many words a text has, as if it were written in letters with spaces."""
    return len(WORD.findall(text)) + len(_UNSPACED.findall(text)) // _CHARS_OF_WORD + len(_HANGUL.findall(text)) // 2


_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff]")
_CHARS_OF_WORD = 3
"""Characters that count as a word in scripts without spaces."""
_HANGUL = re.compile("[\uac00-\ud7af]+")
"""A word of Korean, which holds what others say in two."""


@cache
def words_of_all(kind: str) -> re.Pattern[str]:
    """Return the pattern of a kind of words, such as `home` or `ended`, in all languages."""
    return _pattern(_tables().values(), kind)


@cache
def _because() -> re.Pattern[str]:
    """Return the pattern of what joins a reason to what it explains."""
    return re.compile(f"{words_of_all('because').pattern} ?", re.IGNORECASE)


@cache
def _age_between_commas() -> re.Pattern[str]:
    """Return the pattern of a name and an age between commas: `Marek, 46 lat, elektryk`."""
    years = "|".join(word for table in _tables().values() for word in table.get("years", ()))
    part = "[^,;\uff0c\u3001\u060c]{2,40}[,\uff0c\u3001\u060c] ?"
    return re.compile(rf"(?:{part}){{1,2}}(?:1[3-9]|[2-9]\d)(?: ?(?:{years}))?[,\uff0c\u3001\u060c].*[^\W\d]")


@cache
def _tables() -> dict[str, dict[str, list[str]]]:
    paths = (path for path in sorted(_FOLDER.glob("*.toml")) if not path.stem.startswith("en"))
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in paths}


@cache
def all_profiles() -> dict[str, LanguageProfile]:
    """Return the languages by their codes."""
    return {
        code: _profile(table, stopwords(_WITH_STOPWORDS[code]) if code in _WITH_STOPWORDS else frozenset())
        for code, table in _tables().items()
    }


def _profile(table: dict[str, list[str]], language_stopwords: frozenset[str]) -> LanguageProfile:
    return LanguageProfile(
        language_stopwords,
        str(table.get("being", "")),
        _pattern([table], "own"),
        _pattern([table], "hedges"),
        _pattern([table], "asks"),
        _pattern([table], "lasting"),
        re.compile(rf"^(?:{_pattern([table], 'openings').pattern}{_PAUSE})+", re.IGNORECASE),
        _pattern([table], "home"),
        _pattern([table], "introduces"),
        *(_pattern([table], kind) for kind in _KINDS),
    )


_KINDS = ("points", "orders", "seeks", "roles", "pronouns", "without", "past", "ends_clause")


def _pattern(tables: Iterable[Mapping[str, list[str]]], kind: str) -> re.Pattern[str]:
    spaced = [entry for table in tables if table.get("has_spaces", True) for entry in table.get(kind, ())]
    within = [entry for table in tables if not table.get("has_spaces", True) for entry in table.get(kind, ())]
    parts = [rf"\b(?:{'|'.join(spaced)})\b"] * bool(spaced) + within
    return re.compile(f"(?:{'|'.join(parts)})", re.IGNORECASE) if parts else _NEVER

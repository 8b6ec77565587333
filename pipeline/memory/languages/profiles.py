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
days that are no time by themselves; `subordinating`: words that join a clause to the one before; `tags`: what makes a
question of a statement; `years`: the word after an age; `home` and `job`: where somebody lives, and that they work;
`ended`, `moved`, `new_job`, `altered`, `begun` and `corrects`: what is over or has changed; `past`, `planned` and
`denied`: what was, will be or is not so; `answers` and `always`: what an assistant does, and that it is for every
answer; `rules`: what a document says is allowed, due or free; `before_places`: prepositions before the name of a
place; `pretences` and `ends_pretence`: the begin and the end of role play; `stories`: orders to write one; `verses`:
what songs and poems are called; `common`: words by which the language is told from English, where the letters do not.
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

from pipeline.memory.languages.english import english_words
from pipeline.text.analyzer import detect_language as text_language
from pipeline.text.analyzer import words as folded_words
from pipeline.text.english_verbs import BASES, is_finite, is_third_person, word_set
from pipeline.text.statement_words import (
    has_change_word,
    names_own_at_begin,
    relative_in_subject,
    says_date,
    says_number,
    says_time,
    tells_of_own,
    told_relations,
)
from pipeline.text.stopwords import STOPWORDS, stopwords

MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 6, 300
"""Characters of a sentence."""
_MIN_CJK_SENTENCE_CHARS = 4
"""Minimum in scripts with denser characters."""
_FOLDER = Path(__file__).parent
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LATIN = re.compile("[a-z]", re.IGNORECASE)
_SCRIPTS = {"ja": re.compile("[\u3040-\u30ff]"), "zh": re.compile("[\u4e00-\u9fff]")}
_ONLY_SCRIPTS = {
    "ko": re.compile("[\uac00-\ud7af]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "el": re.compile("[\u0370-\u03ff]"),
}
"""Scripts of one language that we have words of, whatever a sentence says."""
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_ENGLISH = english_words("common")
_UNSURE = word_set("am min mit mi mine vi ho io eu ma ja me con no or")
"""Words of speakers of other languages that are also English, or units and names."""
_SHARED = word_set("i in a me no or am as do so at on")
"""Words of English that others have too."""
_CODES = {"german": "de", "french": "fr", "spanish": "es"}
_WITH_STOPWORDS = {
    "cs": "czech", "de": "german", "es": "spanish", "fi": "finnish", "fr": "french", "hu": "hungarian",
    "id": "indonesian", "it": "italian", "nl": "dutch", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_PROFILED = frozenset({"english", "catalan", *_CODES})
QUESTION_MARK = re.compile("[?\uff1f\u061f;\u037e]\\s*$|\u00bf|\u304b\\W*$")
_DIGITS = re.compile(r"\d+")
_LATIN_CODES = frozenset({"cs", "fi", "hr", "hu", "id", "it", "nl", "pl", "pt", "ro", "sv", "tr", "vi"})
_COLON_WITHIN = re.compile("[:\uff1a] ")
_COLON = re.compile("[:\uff1a]\\s*$")
_FIGURE = re.compile(r"\d\d|\d\.? ?[^\W\d]{2,}")
"""A number of something, as opposed to the number of a room."""
_SAYS_MORE = re.compile(
    r"(?!(?:[^\W\d]+, )?\d{1,2}\.? ?(?:de |d['\u2019])?[^\W\d]+\.?$)"
    r"(?:(?!\w+: \d)[^\W_]+['\u2019 ](?!\d+$)|\W*[^\W_]{6})"
)
"""Several words or a long one, not `Fecha: 5 de marzo`, `Diario, 3 de marzo` or `Log 14`."""
_PERSON = re.compile(
    r"\b(?:M|Mme|Mlle|Mr|Frau|Herrn?|Dr|Sra?|se\u00f1ora?|senhora?|signora?|Sig|[Pp]an[ia]?|mevrouw|meneer|dhr|mw)\.? "
    r"[^\W\d_a-z]\w|\w,? [^\W\d_a-z][^\W\d_]+ [^\W\d_a-z][^\W\d_]|\w(?:\u3055\u3093|\u6c0f)"
)
"""A form of address with a name, or two words of a name within a sentence."""
_NAME_WITHIN = re.compile(r"[^\W\d_]\w+ (?:[a-z\u00e0-\u00ff]+ )+[^\W\d_a-z][^\W\d_]{2,}")
"""A name after two words at least, where nouns have small letters."""
_OF_SOMEBODY = re.compile(
    r"(?:elles?|ils|\u00e9l|ella|ele|ela|lei|hij|zij|hon|ona|\u043e\u043d\u0430?) ", re.IGNORECASE
)
"""Whom a sentence does not name."""
_SMALL = re.compile(r"\b[a-z\u00e0-\u00ff]+\b|[\u3040-\u30ff]{2}")
"""Words of which a list of names has none."""
_PREPOSITION_CHARS = 2
"""Letters of a word that joins a part of an introduction to the one before: `de Sevilla`."""
_MIN_CJK_TRAIT_CHARS = 3
_MIN_GREETING_CHARS = 4
"""Letters of an opening that is of one language only: `hoi, `, not `a `."""
_ENGLISH_I = re.compile(r"\bI['\u2019](?:m|ve|ll|d)\b")
_MAY_BE_I = re.compile(r"\bI (?=[a-z])")
_IS_SOMEBODY = re.compile(r"\w+ (?:is|was) (?:a|an|the|my|our) ")
"""What an English statement says of a name that is a word of questions elsewhere."""
_END = " .!\u3002\uff01\u2026\u0964"
_BETWEEN = re.compile(
    r"([,;\uff0c\u3001\u060c] *| (?:und|et|y|e|i|en|och|og|\u0438|\u0456|\u0442\u0430|\u03ba\u03b1\u03b9|ve|\u0219i) )"
)
_PAUSE = "[,.!:\\s\u2026\u2013\uff0c\u3001\u3002\uff01\u060c-]+"
_NEVER = re.compile("(?!)")
_COMMAS = re.compile("[,;\uff0c\u3001\u060c] *")
_LINKED = re.compile("(?:\u304c|\u3051\u3069|\u306e\u3067|\u304b\u3089)$")
"""What joins a Japanese statement to a question."""
_POLITE = "und|e|et|y|en|i|och|a|bitte|por favor|per favore|s'il te pla\u00eet|stp|prosz\u0119|pros\u00edm"
"""What stands before an order."""
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

    common_words: frozenset[str]
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

        >>> said = "j'ai eu mon permis hier au troisième essai et du coup je cherche une petite voiture pas chère"
        >>> detect_language(said).without_stops(said)
        ["j'ai eu mon permis hier au troisième essai", 'et du coup je cherche une petite voiture pas chère']
        """
        if _UNSPACED.search(text) is not None:
            return text.split() if len(text) >= _MIN_UNSPACED_CHARS else [text]
        if text.count(" ") < _MIN_WORDS_WITHOUT_STOP or _COMMAS.search(text):
            return [text]
        parts: list[str] = []
        begin, at = 0, text.find(" ")
        while at >= 0:
            joined = self.openings.match(text[at + 1 :]) or _BECAUSE.match(text[at + 1 :])
            word = joined[0] if joined is not None else ""
            if text.count(" ", at + 1 + len(word)) < _MAX_FAREWELL_SPACES and len(word.strip()) >= _MIN_GREETING_CHARS:
                return [*parts, text[begin:at]]  # `bueno llámame`
            is_reason = word != "" and _BECAUSE.match(word) is not None
            is_begin = self._begins_clause(text[at + 1 + len(word) :]) if word else self._begins_anew(text, at + 1)
            is_begin = is_begin and not (is_reason and self.own.search(" ".join(text[at + 1 :].split()[:4])) is None)
            if is_begin and _count_words(text[begin:at]) >= _MIN_CLAUSE_WORDS:
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
        return is_somebody and _count_words(text) >= _MIN_CLAUSE_WORDS

    def _begins_anew(self, text: str, at: int) -> bool:
        """Return whether a clause begins there without a joining word: with `I`, and not within another."""
        *_, before = ["", *text[:at].split()]
        if self.ends_clause.fullmatch(before) is not None:
            return self._names_somebody(text[at:])
        is_within = _BEFORE_SUBJECT.fullmatch(before) or words_of_all("subordinating").fullmatch(before)
        return not is_within and _SPEAKER.match(text, at) is not None and self.own.match(text, at) is not None

    def _names_somebody(self, text: str) -> bool:
        """Return whether a text begins with the speaker, a relative or a name."""
        begin = " ".join(text.split()[:_MIN_CLAUSE_WORDS])
        is_own = _FIRST_LAST.match(begin) is not None or relative_in_subject(begin) != ""
        return is_own or _NAME_OR_THING.match(text) is not None

    def without_doubt(self, text: str) -> str:
        """Return what is said before a part that is doubted; the whole where one word doubts it.

        >>> spanish = detect_language("yo sigo en paro")
        >>> spanish.without_doubt("yo sigo en el paro, a ver si sale algo"), spanish.without_doubt("me mudo, quizás")
        ('yo sigo en el paro', 'me mudo, quizás')
        """
        for comma in _COMMAS.finditer(text):
            part = _COMMAS.split(text[comma.end() :], maxsplit=1)[0]
            if self.hedges.search(part) is not None:
                is_whole = " " in part and _count_words(text[: comma.start()]) >= _MIN_WORDS_BEFORE_DOUBT
                return text[: comma.start()] if is_whole else text
        return text

    def before_question(self, text: str) -> str:
        """Return what a question says before it asks; empty if it says nothing.

        >>> detect_language("Ich wohne hier").before_question("ich bin Veganer, was kann ich backen?")
        'ich bin Veganer'
        """
        *before, last = _COMMAS.split(text)
        if words_of_all("tags").fullmatch(last.strip(" ?")):
            return ""  # `pasamos a martes, no?`
        is_asked = self.asks.search(last) is not None or self.hedges.search(last) is not None
        is_question = is_asked or last.rstrip(" ?").count(" ") < _MAX_QUESTION_SPACES
        return _LINKED.sub("", ", ".join(before)) if is_question else ""

    def without_question(self, text: str) -> str:
        """Return what is said before a last part that asks without a mark.

        >>> detect_language("yo vivo aquí").without_question("abro una tienda en enero, qué licencia necesito")
        'abro una tienda en enero'
        """
        *before, last = _COMMAS.split(text)
        return ", ".join(before) if before and self.asks.search(last) is not None else text

    def after_comma(self, text: str) -> str:
        """Return what is said after a first part that tells nothing; empty where any part doubts or asks.

        >>> detect_language("jag bor i Lund").after_comma("här är det kaos, Pontus har fått sparken")
        'Pontus har fått sparken'
        """
        is_sound = not any(kind.search(text) for kind in (self.hedges, self.asks, _COLON_WITHIN))
        return _COMMAS.split(text, maxsplit=1)[1] if is_sound and _COMMAS.search(text) is not None else ""

    def is_introduction(self, text: str) -> bool:
        """Return whether somebody says their name, or their age between commas, with more about themselves.

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
_SPEAKER = re.compile(
    r"(?:ich|wir|je|j'\w+|nous|yo|io|eu|ik|jag|\u044f|\u043c\u044b) (?!(?:und|et|y|e|en|och|\u0438)\b)", re.IGNORECASE
)
_BECAUSE = re.compile(
    "(?:porque|perché|weil|parce qu(?:e |')|omdat|eftersom|ponieważ|protože|jer|потому что|тому що|çünkü|pentru că|"
    r"επειδή|koska|mert|karena)\b ?",
    re.IGNORECASE,
)
"""What joins a reason to what it explains."""
_FIRST_LAST = re.compile(r"(?:ben|biz|benim|bizim)\b", re.IGNORECASE)
"""The speaker where verbs stand last, in Turkish."""
_NAME_OR_THING = re.compile(
    r"(?:(?:der|die|das|de|het|o|a|le|la|el|il) )?[^\W\d_a-z][^\W\d_A-Z]+ (?:der |die )?"
    r"(?!(?:und|et|y|e|en|och|i)\b)(?=[^\W\d_A-Z])"
)
"""A name, or a German noun with its article, and a word that may be its verb."""
_BEFORE_SUBJECT = re.compile(
    r"(?:mit|f\u00fcr|von|bei|zu|ohne|als|avec|pour|chez|de|\u00e0|sans|con|para|por|sin|per|di|da|com|sem|met|voor|van|bij|"
    r"aan|med|f\u00f6r|av|till|om|att|z|ze|dla|od|do|bez|"
    r"hab|bin|war|muss|kann|darf|will|soll|mag|geh|fahr|\w+[es]t|\w+e|heb|ben|ga|moet|wil|zit|kan|was|had|har|\u00e4r|ska|var|"
    r"m\u00e5ste|vill|\w+er|ma|dat|que|che|qui)",
    re.IGNORECASE,
)
"""A preposition, or a verb that stands before its subject: `den Laden hab ich`, `nu ska jag`."""


def is_bare_answer(answer: str, asked: str) -> bool:
    """Return whether an answer neither begins with its speaker, nor doubts: it says nothing without its question.

    >>> is_bare_answer("in Graz", "Wo wohnst du?"), is_bare_answer("ich wohne in Graz", "Wo wohnst du?")
    (True, False)
    """
    profile = detect_language(f"{asked} {answer}")
    if profile is None:
        return True
    begin = " ".join(_COMMAS.split(profile.without_opening(answer))[0].split()[: _MIN_TOLD_WORDS - 1])
    is_own = any(kind.search(begin) for kind in (profile.own, profile.lasting, profile.home))
    return not is_own and profile.hedges.search(answer) is None


def is_instruction(text: str) -> bool:
    """Return whether a text tells an assistant in another language how to answer from now on.

    >>> is_instruction("bitte antworte immer auf Deutsch"), is_instruction("antworte auf Deutsch")
    (True, False)
    """
    return _orders().search(text) is not None and words_of_all("always").search(text) is not None


@cache
def _orders() -> re.Pattern[str]:
    always, answers = words_of_all("always").pattern, words_of_all("answers").pattern
    return re.compile(rf"(?:^|[,;:.] ?|[\u3041-\uffdc])(?:(?:{_POLITE}|{always})\W+)*{answers}", re.IGNORECASE)


def detect_language(text: str, expected: LanguageProfile | None = None) -> LanguageProfile | None:
    """Return the profile of a sentence's language; None for English.

    `expected`: the language of the sentences before it, which decides between languages that it tells nothing of.

    >>> detect_language("Ich wohne in Berlin.") is not None, detect_language("I live in Berlin.")
    (True, None)
    """
    written = None if text.isascii() else next((code for code in _SCRIPTS if _SCRIPTS[code].search(text)), None)
    if written is not None or _ENGLISH_I.search(text):
        return None if written is None else _profiles()[written]
    words = [word.lower() for word in _WORD.findall(text)]
    found = _told_by_words(text, words, expected)
    is_sure = found is None or expected is None or _common(found, words) >= _MIN_COMMON
    return found if is_sure else expected


_MIN_STOPWORDS = 2
"""Stopwords by which a sentence without an English verb is in German, French or Spanish."""
_MIN_COMMON = 3
"""Words by which a sentence is in another language than those before it: `Mio fratello` is no Spanish among Italian."""


def _told_by_words(text: str, words: list[str], expected: LanguageProfile | None) -> LanguageProfile | None:
    profiles = _profiles()
    if words and _LATIN.search(text) is None:
        return _other(text, expected)
    english = sum(word in _ENGLISH or is_third_person(word) for word in words)
    best = max((profiles["de"], profiles["fr"], profiles["es"]), key=lambda known: _likelihood(known, words, text))
    common = _common(best, words)
    is_accented = english <= 1 and any(not word.isascii() and word.islower() for word in _WORD.findall(text))
    if english <= 1 and not any(is_finite(word) for word in words if word not in _ENGLISH):
        language = text_language(folded_words(text), text)
        code = _CODES.get(language, "other")
        if english == 0 and code != "other" and (_names_speaker(profiles[code], text) or tells_of_own(text)):
            return profiles[code]
        shown = (
            frozenset[str]() if code == "other" else profiles[code].stopwords.intersection(words) - _SHARED - STOPWORDS
        )
        if len(shown) >= _MIN_STOPWORDS and not _names_speaker(profiles["other"], text):
            return profiles[code]
        if language not in _PROFILED:
            return _other(text, expected)
        is_best = common > 0 and _names_speaker(best, text)
        if common <= max(english, 1) and not is_best and _names_speaker(profiles["other"], text):
            return _other(text, expected)
    elif text_language(folded_words(text), text) not in _PROFILED and (
        profiles["other"].asks.match(text) or (2 * english <= len(words) and _names_speaker(profiles["other"], text))
    ):
        return _other(text, expected)  # `wat is de beste bakker in Gent`
    if common == 1 and profiles["other"].asks.match(text) is not None and best.asks.search(text) is None:
        return _other(text, expected)  # `koliko je visok Velebit`, of which `je` is French too
    is_foreign = is_accented or _names_speaker(best, text)
    is_told = is_foreign or best.common_words.intersection(words) != {"no"}  # `no sugar, day 12` is not
    if (common > english and is_told) or (0 < common == english and is_foreign):
        return best
    # `o Thor morreu mês passado`
    return _other(text, expected) if is_doubtful(text) and has_change_word(text) else None


def likeliest_language(text: str) -> LanguageProfile:
    """Return the profile of a text that is known not to be English: by its script and by what says most in it."""
    return _other(text, None)


def is_doubtful(text: str, expected: LanguageProfile | None = None) -> bool:
    """Return whether a text has hardly a word by which it is English: `koffie is op`.

    `expected`: the language of the sentences before it, whose words tell nothing.

    >>> is_doubtful("koffie is op"), is_doubtful("coffee is for us"), is_doubtful("vi bor i ett hus in Lund")
    (True, False, True)
    """
    is_english = _MAY_BE_I.search(text) is not None  # `I go by Sam` has three words of Polish
    shared = _SHARED if expected is None or is_english else _SHARED | expected.stopwords
    words = [word.lower() for word in _WORD.findall(text)]
    others = [word for word in words if word not in _ENGLISH | shared]
    english = sum(word in _ENGLISH - shared for word in words)
    is_verbal = any(is_finite(word) or word in BASES for word in others)
    known = sum(word in _ENGLISH for word in words)
    return not is_verbal and (known <= 1 or english == 0)


def asks_elsewhere(text: str) -> bool:
    """Return whether a text with hardly a word of English begins as questions or orders of another language do.

    >>> asks_elsewhere("ile wynosi czynsz"), asks_elsewhere("Kim is a nurse")
    (True, False)
    """
    other = _profiles()["other"]
    is_asking = is_doubtful(text) and (other.asks.match(text) or other.orders.match(text)) is not None
    return is_asking and _IS_SOMEBODY.match(text) is None


def _likelihood(profile: LanguageProfile, words: Iterable[str], text: str) -> tuple[int, int]:
    return _common(profile, words), len(profile.own.findall(text))


def _other(text: str, expected: LanguageProfile | None) -> LanguageProfile:
    """Return the profile in whose language a text says or asks most of its speaker, and hedges least."""
    plain = text.rstrip(_END)
    words = {word.lower() for word in _WORD.findall(text)}

    def likelihood(profile: LanguageProfile) -> tuple[int, int, int, bool]:
        said = 2 * (len(profile.own.findall(plain)) + len(profile.asks.findall(plain))) + len(words & profile.stopwords)
        opening = profile.openings.match(plain)
        said += 2 * (opening is not None and len(opening[0]) >= _MIN_GREETING_CHARS)
        doubts, lasts = len(profile.hedges.findall(plain)), len(profile.lasting.findall(plain))
        return said, -doubts, lasts, profile is expected

    codes = [code for code, script in _ONLY_SCRIPTS.items() if script.search(text)]
    if not codes:
        codes = ["ru", "uk"] if _CYRILLIC.search(text) is not None else sorted(_LATIN_CODES)
    return max((_profiles()[code] for code in codes), key=likelihood)


def _common(profile: LanguageProfile, words: Iterable[str]) -> int:
    return sum(word in profile.common_words for word in words)


def _names_speaker(profile: LanguageProfile, text: str) -> bool:
    """Return whether a word means the speaker in that language and nothing in English: `Ich lebe in Mainz`."""
    return any(match[0].lower() not in _ENGLISH | _UNSURE for match in profile.own.finditer(text))


def states_personal_fact(
    text: str,
    profile: LanguageProfile,
    *,
    is_note: bool,
    is_minutes: bool = False,
    is_message: bool = False,
    is_named: bool = False,
    is_memorable: bool = False,
) -> bool:
    """Return whether a non-English sentence states something about its speaker, or in a note what has changed.

    In minutes and in a message to nobody else also what has a time, a number, a rule or a name. `is_named`: it is
    known to begin with a name; `is_memorable`: to mean what people keep.
    """
    plain = text.rstrip(_END)
    least = MIN_SENTENCE_CHARS if plain.isascii() else _MIN_CJK_SENTENCE_CHARS
    if not least <= len(plain) <= MAX_SENTENCE_CHARS or _COLON.search(plain):
        return False
    if QUESTION_MARK.search(plain) or profile.asks.search(plain) or _quoted().search(plain):
        return False
    if _frame_of_letter().match(plain) or (words_of_all("others").match(plain) and not is_minutes):
        return False
    is_own = profile.own.search(plain) is not None
    is_noted = tells_of_own(plain) or (is_note and (_says_what_changed(plain) or _names_own(plain)))
    has_names = is_minutes and profile is not _profiles()["de"] and _NAME_WITHIN.search(plain) is not None
    is_noted = is_noted or has_names or (is_minutes and _is_worth_minutes(plain))
    is_noted = is_noted or (is_message and _is_worth_minutes(words_of_all("of_speaking").sub("", plain)))
    words = _count_words(plain)
    is_noted = is_noted or (not is_note and says_date(plain) and words >= _MIN_TOLD_WORDS)
    is_noted = is_noted and _OF_SOMEBODY.match(plain) is None
    is_noted = is_noted or (is_named and (words > _MIN_TOLD_WORDS or _tells_change(plain, profile)))
    is_noted = is_noted or (is_memorable and words >= _MIN_MEMORABLE_WORDS)
    is_told = is_note or (_tells_something(plain, profile) and not _is_half_said(plain, profile))
    return (is_own or is_noted) and is_told and profile.hedges.search(plain) is None


def _tells_change(text: str, profile: LanguageProfile) -> bool:
    """Return whether it says what lasts, has changed or is planned, or a time or number."""
    text = words_of_all("of_speaking").sub("", text)
    return (
        profile.lasting.search(text) is not None
        or profile.home.search(text) is not None
        or has_change_word(text)
        or says_time(text)
        or says_number(text)
        or any(words_of_all(kind).search(text) for kind in _CHANGES)
    )


_CHANGES = ("job", "ended", "moved", "altered", "begun", "planned")


def _tells_something(text: str, profile: LanguageProfile) -> bool:
    """Return whether a remark among people is more than a reaction: by its length, whom it names, or a change."""
    is_long = (
        _count_words(text) >= _MIN_TOLD_WORDS or _HAN_NOUN.search(words_of_all("of_speaking").sub("", text)) is not None
    )
    return is_long or told_relations(text) != frozenset() or _tells_change(text, profile)


def _count_words(text: str) -> int:
    """Return how many words a text has, as if it were written in letters with spaces."""
    return len(_WORD.findall(text)) + len(_UNSPACED.findall(text)) // _CHARS_OF_WORD + len(_HANGUL.findall(text)) // 2


def _is_half_said(text: str, profile: LanguageProfile) -> bool:
    """Return whether a remark is about what was named before: `los dejé hace un mes`, `vou, dia 3`."""
    if _PLACES_ALONE.match(text) is not None:
        return True
    pointing = profile.points.match(text)
    first, comma, rest = text.partition(",")
    is_answer = comma != "" and " " not in first and profile.own.search(rest) is None and profile.own.search(first)
    return bool(is_answer) or (pointing is not None and profile.own.match(text[pointing.end() :].lstrip()) is not None)


_PLACES_ALONE = re.compile(
    r"(?:(?:en|a|al|em|n[ao]|in|\u00e0|au|im|am|w|do|\u0432|\u043d\u0430) [^\W\d]+(?:, |$))+$", re.IGNORECASE
)
"""Where and when, of what was named before a remark: `en septiembre, en Ronda`."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff]")
_CHARS_OF_WORD = 3
"""Characters that count as a word in scripts without spaces."""
_HAN_NOUN = re.compile("[\u4e00-\u9fff]{4}|[\u4e00-\u9fff]{2}(?=[^\u4e00-\u9fff]*[\u3040-\u30ff])")
"""A noun of Japanese, or enough of Chinese to hold one."""
_HANGUL = re.compile("[\uac00-\ud7af]+")
"""A word of Korean, which holds what others say in two."""
_MIN_TOLD_WORDS = 4
"""Words of a remark from which it tells something."""
_MIN_MEMORABLE_WORDS = 3
"""The same of a statement that is known to mean what people keep: not of the greeting before it."""


def _says_what_changed(text: str) -> bool:
    """Return whether a note says that something is over or other than it was: `Birba è scappato`."""
    return has_change_word(text) or words_of_all("ended").search(text) is not None


def _is_worth_minutes(text: str) -> bool:
    """Return whether a sentence of minutes or a document has a time, a number, a rule or the name of a person."""
    if text.lower() == text.upper() and text.isascii():
        return False  # the digits of a phone number
    # A digit alone numbers an item: only `_FIGURE` tells which ones count.
    names_person = _PERSON.search(text) is not None and len(_SMALL.findall(text)) > text.count(",")
    names_person = names_person and _count_words(text) > 2
    return _SAYS_MORE.match(text) is not None and (
        names_person
        or words_of_all("rules").search(text) is not None
        or says_time(text)
        or says_number(_DIGITS.sub("", text))
        or _FIGURE.search(text) is not None
    )


def begins_with_name(text: str, profile: LanguageProfile) -> bool:
    """Return whether a remark begins with a name: a capital and no article before an auxiliary.

    >>> profile = detect_language("Ich wohne in Graz")
    >>> begins_with_name("Tina hat ein Kind bekommen", profile), begins_with_name("Heute ist das Training", profile)
    (True, False)
    """
    match = _name_first().match(text)
    if match is None or not match["name"][0].isupper():
        return False
    is_word = match["name"].lower() in profile.stopwords or says_time(match["name"])
    return not is_word and profile.points.search(_STOP.split(text, maxsplit=1)[0]) is None


_STOP = re.compile(r"[.!]+\s")


@cache
def _name_first() -> re.Pattern[str]:
    """Return the pattern of a name before a verb."""
    return re.compile(
        rf"(?P<name>(?-i:[^\W\d_a-z][^\W\d_A-Z]{{2,}})) {words_of_all('after_name').pattern} (?=\w)", re.IGNORECASE
    )


def _names_own(text: str) -> bool:
    """Return whether a note says how something of its writer's is called: `pies wabi się Bursztyn`."""
    return words_of_all("continues").search(text) is not None and text[-1].isalpha() and " " in text


def is_permanent(text: str, profile: LanguageProfile) -> bool:
    """Return whether it states identity as opposed to an event."""
    return profile.lasting.search(text) is not None


def continues(sentence: str, before: str) -> bool:
    """Return whether a sentence names what the one before it tells the speaker has, or goes on about whom it named.

    >>> continues("Er heißt Bruno.", "Ich habe einen Hund."), continues("名前は太郎です。", "こんにちは。")
    (True, False)
    >>> continues("Vive en Lima con su marido.", "Mi hermana es médica.")
    True
    """
    is_named = words_of_all("continues").match(sentence) is not None
    is_others = words_of_all("others").match(sentence) is not None and _count_words(sentence) >= _MIN_TOLD_WORDS
    if not (is_named or is_others) or (profile := detect_language(before)) is None:
        return False
    if is_named:
        return states_personal_fact(profile.without_opening(before), profile, is_note=False)
    is_doubted = any(kind.search(sentence) for kind in (QUESTION_MARK, profile.asks, profile.hedges, _quoted()))
    is_told = not (is_doubted or QUESTION_MARK.search(before) or profile.hedges.search(before))
    return is_told and (told_relations(before) != frozenset() or begins_with_name(before, profile))


@cache
def words_of_all(kind: str) -> re.Pattern[str]:
    """Return the pattern of a kind of words, such as `home` or `ended`, in all languages."""
    return _pattern(_tables().values(), kind)


@cache
def _frame_of_letter() -> re.Pattern[str]:
    """Return the pattern of the title of a journal, a salutation or a farewell."""
    journals, salutes, farewells = (words_of_all(kind).pattern for kind in ("journals", "salutes", "farewells"))
    parts = (rf"{journals}.{{0,30}}\d", rf"{salutes} [^.!?,]{{2,40}}$", rf"{farewells}[^.!?]{{0,30}}$")
    return re.compile("|".join(parts), re.IGNORECASE)


@cache
def _quoted() -> re.Pattern[str]:
    """Return the pattern of what somebody else said, after a colon, or where it was cut off."""
    says = words_of_all("says").pattern
    return re.compile(rf"{says}[^:]{{0,20}}: |{says}$", re.IGNORECASE)


@cache
def _age_between_commas() -> re.Pattern[str]:
    """Return the pattern of a name and an age between commas: `Marek, 46 lat, elektryk`."""
    years = "|".join(word for table in _tables().values() for word in table.get("years", ()))
    part = "[^,;\uff0c\u3001\u060c]{2,40}[,\uff0c\u3001\u060c] ?"
    return re.compile(rf"(?:{part}){{1,2}}(?:1[3-9]|[2-9]\d)(?: ?(?:{years}))?[,\uff0c\u3001\u060c].*[^\W\d]")


@cache
def _tables() -> dict[str, dict[str, list[str]]]:
    paths = (path for path in sorted(_FOLDER.glob("*.toml")) if path.stem != "en")
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in paths}


@cache
def _other_codes() -> list[str]:
    """Return the languages without words, or a script, by which they are told from English."""
    return [code for code, table in _tables().items() if "common" not in table and code not in _SCRIPTS]


@cache
def _profiles() -> dict[str, LanguageProfile]:
    """Return the languages by their codes, and the others together as `other`."""
    tables = _tables()
    every = {
        code: _profile([table], stopwords(_WITH_STOPWORDS[code]) if code in _WITH_STOPWORDS else frozenset())
        for code, table in tables.items()
    }
    return every | {"other": _profile([tables[code] for code in _other_codes()], frozenset())}


def _profile(tables: list[dict[str, list[str]]], language_stopwords: frozenset[str]) -> LanguageProfile:
    common = " ".join(str(table.get("common", "")) for table in tables)
    return LanguageProfile(
        word_set(common),
        language_stopwords,
        str(tables[0].get("being", "")),
        _pattern(tables, "own"),
        _pattern(tables, "hedges"),
        _pattern(tables, "asks"),
        _pattern(tables, "lasting"),
        re.compile(rf"^(?:{_pattern(tables, 'openings').pattern}{_PAUSE})+", re.IGNORECASE),
        _pattern(tables, "home"),
        _pattern(tables, "introduces"),
        *(_pattern(tables, kind) for kind in _KINDS),
    )


_KINDS = ("points", "orders", "seeks", "roles", "pronouns", "without", "past", "ends_clause")


def _pattern(tables: Iterable[Mapping[str, list[str]]], kind: str) -> re.Pattern[str]:
    spaced = [entry for table in tables if table.get("has_spaces", True) for entry in table.get(kind, ())]
    within = [entry for table in tables if not table.get("has_spaces", True) for entry in table.get(kind, ())]
    parts = [rf"\b(?:{'|'.join(spaced)})\b"] * bool(spaced) + within
    return re.compile(f"(?:{'|'.join(parts)})", re.IGNORECASE) if parts else _NEVER

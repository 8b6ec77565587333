"""Languages other than English: what somebody says of themselves is kept in their own words.

Nothing is resolved, dated or split there: a sentence is a memory as it was said, after who said it.
"""

import re
from dataclasses import dataclass

from pipeline.text.analyzer import detect_language as text_language
from pipeline.text.analyzer import words as folded_words
from pipeline.text.english_verbs import is_finite, is_third_person, word_set
from pipeline.text.statement_words import has_change_word

MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 6, 300
"""Characters of a sentence."""
_MIN_CJK_SENTENCE_CHARS = 4
"""Minimum in scripts with denser characters."""

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u4e00-\u9fff]")
_ENGLISH = word_set(
    "the and me is are was were i my to of in that with for have has it you we at on be this not but from they he she "
    "will would can do did don doesn so as an our your their his her there been had just get got"
)


@dataclass(frozen=True, slots=True)
class LanguageProfile:
    """Patterns of personal, stating and permanent sentences, and the words that join a sentence to others."""

    common_words: frozenset[str]
    first_person: re.Pattern[str]
    hedges: re.Pattern[str]
    permanent_verbs: re.Pattern[str]
    openings: re.Pattern[str] | None = None

    def without_opening(self, text: str) -> str:
        """Return a sentence without the words that join it to what was said before: `und`, `pero`."""
        return text if self.openings is None else self.openings.sub("", text)


def _openings(words: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:(?:{words})(?:[,.!:\s\u2026\u2013-]+))+", re.IGNORECASE)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{text})\b", re.IGNORECASE)


_GERMAN = LanguageProfile(
    word_set(
        "der die das und ist ich nicht ein eine einen einer mein meine meinen mit f\u00fcr auf zu wir wohne habe bin "
        "den dem im am von es war sind auch sehr seit mich mir uns bei aus als nach hat kein keine keinen mehr jetzt "
        "immer gern gerne nie jeden hab"
    ),
    _pattern(
        r"ich|mein\w{0,2}|mich|mir|wir|unser\w{0,2}|uns|^(?:bin(?! day)|(?:hab|habe|wohne|arbeite|studiere|ziehe|fahre|"
        r"gehe|esse|trinke)(?! ich\b)|(?!(?:\w*eine|ihre|unsere|die|diese|alle|heute)\b)\w{3,}e (?=(?:kein|nicht|mein|"
        r"in|bei|seit|jetzt|gern|immer|nie|am|im|mit|lieber|nur|momentan|wieder|ab|auch|kaum|jede)\w{0,3}\b))"
    ),
    _pattern(
        "vielleicht|wahrscheinlich|m\u00f6glicherweise|eventuell|w\u00fcrde|w\u00fcrden|k\u00f6nnte|sollte|glaube|"
        "denke|hoffe|hoffentlich|falls|wenn|bitte|danke|hallo|du|dir|dich|dein\\w{0,2}|euch|ihr|tsch\u00fcss"
    ),
    _pattern(
        r"wohne|lebe|hei\u00dfe|hei\u00dft|arbeite|arbeitet|mag|liebe|hasse|spreche|bin|habe|trinke|esse|studiere|"
        r"spiele|bevorzuge|lieblings\w*"
    ),
    _openings(
        "und|aber|also|oder|doch|denn|ja|nein|nee|naja|nun|ach|achso|oh|ok|okay|\u00fcbrigens|haha|hey|sorry|genau"
    ),
)
_FRENCH = LanguageProfile(
    word_set(
        "le la les et est je j un une des mon ma mes nous pas ne de du dans pour avec \u00e0 au aux suis ai que qui "
        "sur en notre nos mais depuis chez tr\u00e8s c"
    ),
    _pattern("je|j|mon|ma|mes|moi|nous|notre|nos|^on (?:a|est|va|vit|habite|part)"),
    _pattern(
        "peut-\u00eatre|probablement|sans doute|si|pense|crois|esp\u00e8re|pourrais|pourrait|devrais|devrait|voudrais|"
        "merci|bonjour|salut|tu|te|toi|ton|ta|tes|vous|votre|vos"
    ),
    _pattern(
        "habite|vis|appelle|travaille|aime|adore|d\u00e9teste|parle|suis|ai|bois|mange|\u00e9tudie|joue|"
        "pr\u00e9f\u00e8re|pr\u00e9f\u00e9r\u00e9e?"
    ),
    _openings("et|mais|donc|car|oui|non|bon|ben|bah|alors|ah|oh|ok|du coup|au fait|sinon|d'ailleurs|haha|mdr"),
)
_SPANISH = LanguageProfile(
    word_set(
        "el la los las y es yo un una mi mis en de que con para por no soy tengo estoy me vivo muy del al nos nuestro "
        "nuestra gusta trabajo pero desde se su lo"
    ),
    _pattern(
        r"yo|mi|mis|me|nos|nosotr[oa]s|nuestr[oa]s?|soy|vivo|trabajo|tengo|estoy|prefiero|estudio|hablo|fui|voy|"
        r"com\u00ed|vivimos|tenemos|fuimos|somos|quiero|^(?:ya |ayer |no )*\w{2,}[\u00e9\u00ed](?= \w)"
    ),
    _pattern(
        "quiz\u00e1s?|tal vez|probablemente|a lo mejor|si|creo|pienso|espero|podr\u00eda|deber\u00eda|ojal\u00e1|"
        "gracias|hola|t\u00fa|te|ti|tu|tus|usted|ustedes|os|vosotr[oa]s"
    ),
    _pattern("vivo|llamo|llama|trabajo|trabaja|gusta|gustan|encanta|prefiero|hablo|soy|tengo|odio|estudio|favorit[oa]"),
    _openings("y|e|pero|pues|entonces|s\u00ed|bueno|vale|ah|oh|ok|por cierto|adem\u00e1s|as\u00ed que|jaja\\w*"),
)
_CHINESE = LanguageProfile(
    frozenset(),
    re.compile("\u6211"),
    re.compile(
        "\u5417|\u5462|\u4e5f\u8bb8|\u53ef\u80fd|\u5927\u6982|\u5982\u679c|\u89c9\u5f97|\u5e0c\u671b|"
        "\u8c22\u8c22|\u4f60"
    ),
    re.compile("\u4f4f|\u53eb|\u662f|\u559c\u6b22|\u5de5\u4f5c|\u8ba8\u538c|\u6709"),
)
_JAPANESE = LanguageProfile(
    frozenset(),
    re.compile(
        "(?:\u3067\u3059|\u307e\u3059|\u307e\u3057\u305f|\u3067\u3057\u305f|\u307e\u305b\u3093|\u3060|"
        "\u305f|\u306a\u3044|\u308b|\u3044|\u3046|\u304f|\u3080|\u3059)(?:\u3088|\u306d|\u3088\u306d|"
        "\u3093\u3067\u3059|\u3093\u3060)?$"
    ),
    re.compile(
        "\u304b$|\u304b\u306a|\u304b\u3082|\u305f\u3076\u3093|\u591a\u5206|\u3067\u3057\u3087\u3046|\u3060\u308d\u3046|"
        "\u3068\u601d|\u307f\u305f\u3044|\u3089\u3057\u3044|\u3082\u3057|\u304f\u3060\u3055\u3044|"
        "\u307e\u3057\u3087\u3046|\u306a\u3055\u3044|\u3042\u308a\u304c\u3068\u3046|\u3053\u3093\u306b\u3061\u306f|"
        "\u304a\u306f\u3088\u3046|\u3053\u3093\u3070\u3093\u306f|\u3088\u308d\u3057\u304f|\u304a\u75b2\u308c|"
        "\u3059\u307f\u307e\u305b\u3093|\u3054\u3081\u3093|\u3042\u306a\u305f|\u304a\u5143\u6c17"
    ),
    re.compile(
        "\u4f4f\u3093\u3067|\u597d\u304d|\u5acc\u3044|\u50cd\u3044\u3066|\u540d\u524d|\u98fc\u3063\u3066|"
        "\u5c02\u9580|\u8da3\u5473|\u3067\u3059$|\u8a71\u3057\u307e\u3059|\u82e6\u624b"
    ),
)
_OTHER = LanguageProfile(
    frozenset(),
    _pattern(
        "mam|jestem|mieszkam|pracuj\u0119|lubi\u0119|m\u00f3j|moja|moje|mamy|"  # Polish
        "ho|sono|abito|lavoro|mio|mia|miei|mie|abbiamo|siamo|"  # Italian
        "eu|meu|minha|moro|vivo|tenho|sou|trabalho|temos|somos|"  # Portuguese
        "mudei|deixei|troquei|comprei|vendi|comecei|parei|"
        "ik|mijn|wij|onze|jag|min|mitt|mina|jeg|mit|vi|v\u00e5r|"  # Dutch, Swedish, Danish, Norwegian
        "jsem|m\u00e1m|bydl\u00edm|m\u016fj|moje|ben|benim|bizim|sunt|locuiesc|"  # Czech, Turkish, Romanian
        "\u044f|\u043c\u043e\u0439|\u043c\u043e\u044f|\u043c\u043e\u0438|\u043c\u0435\u043d\u044f|"  # Russian
        "\u043c\u043d\u0435|\u043c\u044b|\u043d\u0430\u0448\\w*"
    ),
    _pattern(
        "mo\u017ce|chyba|forse|se|penso|grazie|ciao|talvez|acho|obrigad[oa]|misschien|als|dank|jij|jou|je|kanske|om|"
        "tack|du|mo\u017en\u00e1|belki|\u043c\u043e\u0436\u0435\u0442|\u0435\u0441\u043b\u0438|\u0442\u044b|\u0432\u044b"
    ),
    _pattern("mieszkam|jestem|abito|sono|moro|sou|woon|ben|bor|\u0436\u0438\u0432\u0443"),
    _openings(
        "ale|wi\u0119c|tak|ma|per\u00f2|allora|quindi|s\u00ec|mas|ent\u00e3o|sim|maar|dus|ja|nou|men|och|og|ah|oh|ok|haha|"
        "\u0438|\u0430|\u043d\u043e|\u0434\u0430|\u043d\u0435\u0442|\u043d\u0443"
    ),
)
"""What people say of themselves in languages without a profile of their own."""
_EUROPEAN = (_GERMAN, _FRENCH, _SPANISH)
_FEW_WORDS = 4
"""Words of a sentence up to which the speaker's verb shows the language: `ik woon in Utrecht`."""
_PROFILED = frozenset({"english", "german", "french", "spanish", "catalan"})


def detect_language(text: str) -> LanguageProfile | None:
    """Return the profile of a sentence's language; None for English.

    >>> detect_language("Ich wohne in Berlin.") is not None, detect_language("I live in Berlin.")
    (True, None)
    """
    if not text.isascii():
        if _KANA.search(text):
            return _JAPANESE
        if _HAN.search(text):
            return _CHINESE
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(word in _ENGLISH or is_third_person(word) for word in words)
    if len(words) <= _FEW_WORDS and english <= 1 and _OTHER.permanent_verbs.search(text) is not None:
        return _OTHER
    if english <= 1 and not any(is_finite(word) for word in words if word not in _ENGLISH):
        language = text_language(folded_words(text), text)
        if language not in _PROFILED:
            return _OTHER
    best = max(_EUROPEAN, key=lambda profile: sum(word in profile.common_words for word in words))
    common = sum(word in best.common_words for word in words)
    own = best.first_person.search(text)
    is_own = own is not None and own[0].lower() not in _ENGLISH  # `Ich lebe in Mainz`
    return best if common > english or (0 < common == english and is_own) else None


def states_personal_fact(text: str, profile: LanguageProfile, *, is_note: bool) -> bool:
    """Return whether a non-English sentence states something about its speaker, or in a note what has changed."""
    plain = text.rstrip(" .!\u3002\uff01\u2026")
    if not (MIN_SENTENCE_CHARS if plain.isascii() else _MIN_CJK_SENTENCE_CHARS) <= len(
        plain
    ) <= MAX_SENTENCE_CHARS or plain.endswith(("?", "\uff1f", ":", "\uff1a")):
        return False
    is_own = profile.first_person.search(plain) is not None
    return (is_own or (is_note and has_change_word(plain))) and profile.hedges.search(plain) is None


def is_permanent(text: str, profile: LanguageProfile) -> bool:
    """Return whether it states identity as opposed to an event."""
    return profile.permanent_verbs.search(text) is not None

"""Requests in languages other than English: what somebody states beside what they ask. Pure.

`Recomiéndame un seguro para mi madre, tiene 74 y vive sola` asks for one thing and states another. The parts between
commas are told apart by how orders and questions begin or end; what is stated stays with whom the request names, and
with what it goes without, since that is what its pronouns mean.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

from pipeline.memory.languages.personal_facts import begins_with_name, is_instruction
from pipeline.memory.languages.profiles import QUESTION_MARK, LanguageProfile, words_of_all
from pipeline.text.statement_words import only_relative, own_relatives, relative_in_subject

_COMMA = re.compile(
    "(?:(?<!\\d)[,;\uff0c\u3001\u060c]|[,;\uff0c\u3001\u060c](?!\\d)) *(?![^(]*\\))|"
    "(?:(?<=[는은인한]데)|(?<=니까)|(?<=라서)) |"
    " (?=(?:alors|du coup|donc|entonces|así que|allora|quindi|então|dus|więc|takže|deshalb|darum|"
    "поэтому) )"
)
"""What stands between two parts of a sentence: a comma, a Korean ending, or a space before what means *therefore*."""
_LINKED = re.compile("(?:が|けど|ので|から)$")
_PLEASE = re.compile(
    r"^(?:bitte|please|stp|svp|por favor|per favore|graag|prosím|proszę|пожалуйста|будь ласка)\b|"
    r"\b(?:bitte|please|stp|svp|s'il (?:te|vous) plaît|por favor|porfa|per favore|graag|alsjeblieft|aub|prosím|proszę|"
    r"пожалуйста|будь ласка|lütfen|kiitos)$",
    re.IGNORECASE,
)
_MARK = re.compile("[?\uff1f\u061f]\\W*$|[\u0370-\u03ff] *;\\s*$")
"""The mark of a question behind a part; a Greek one is a semicolon."""
_WORKED_ON = re.compile(
    r"\b(?:übersetz|korrigier|tradui|traduc|traduz|corrig|correg|vertaal|verbeter|översätt|przetłumacz|popraw|přelož|oprav|"
    r"prevedi|ispravi|перевед|исправ|переклад|corect|μετάφρασ|διόρθωσ|käännä|korjaa|fordít|javít|çevir|düzelt|terjemah)|"
    r"翻译|翻訳|訳して|번역|ترجم|صحح|अनुवाद|dịch|แปล|תרגם",
    re.IGNORECASE,
)
"""Orders to translate or correct what stands beside them."""
_WRITTEN = re.compile(
    rf"{_WORKED_ON.pattern}|\b(?:schreib|verfass|formulier|erfind|dichte|écri|rédig|invent|conjugu|escrib|redact|escrev|crie|"
    r"scriv|schrijf|bedenk|verzin|skriv|napisz|wymyśl|napiš|vymysli|напиш|сочин|придум|напиши|scrie|γράψε|kirjoita|írj|yaz|"
    r"tulis)|写|编|書いて|考えて|써|اكتب|लिख|viết|เขียน|כתוב",
    re.IGNORECASE,
)
"""The same, and orders to write."""
_RELATIVE = re.compile(
    r"(?:qui|que|quien|che|der|die|das|dem|den|som|co|któr\w+|kter\w+|koj\w+|котор\w+|як[аи]\w*|"
    r"care|jo(?:ka|lla|ta)|aki\w*|yang|που)\b",
    re.IGNORECASE,
)
"""What joins a clause to whom it tells of."""
_MAX_ROLE_WORDS = 7
_MAX_LEFT_OUT_WORDS = 3
"""Spaces within what a request leaves out, up to its end."""
_END = " ,;.!?\u3002\uff01\uff1f\u061f\u2026\uff0c\u3001\u060c"


@dataclass(frozen=True, slots=True)
class Stated:
    """Statement beside a request.

    `is_whole`: it is kept as it is, such as a name; `is_sought`: it says what its speaker looks for.
    """

    text: str
    is_whole: bool = False
    is_sought: bool = False


def asks_something(text: str, profile: LanguageProfile) -> bool:
    """Return whether a sentence asks or orders something, or says what its speaker looks for.

    >>> from pipeline.memory.languages.language_detection import detect_language
    >>> german = detect_language("Ich wohne in Graz")
    >>> asks_something("Schreib mir einen Brief", german), asks_something("Ich schreibe einen Brief", german)
    (True, False)
    """
    is_marked = QUESTION_MARK.search(text) is not None
    return is_marked or any(_is_asked(part, profile) or _is_sought(part, profile) for part in _parts(text))


def stated_beside(text: str, profile: LanguageProfile) -> list[Stated] | None:
    """Return what a sentence states beside what it asks; None where it asks nothing.

    >>> from pipeline.memory.languages.language_detection import detect_language
    >>> german, spanish = detect_language("Ich wohne in Graz"), detect_language("yo vivo aquí")
    >>> [said.text for said in stated_beside("Ich suche ein Curry, aber ohne Kokos, das vertrag ich nicht", german)]
    ['Ich suche ein Curry', 'aber ohne Kokos, das vertrag ich nicht']
    >>> [said.text for said in stated_beside("Busco seguro para mi madre, tiene 74 y vive sola", spanish)]
    ['Busco seguro para mi madre', 'mi madre, tiene 74 y vive sola']
    >>> [said.text for said in stated_beside("como diabético, qué puedo cenar?", spanish)]
    ['soy diabético']
    """
    parts = _parts(text)
    if not parts or is_instruction(text):
        return None
    if QUESTION_MARK.search(text) and words_of_all("tags").fullmatch(parts[-1].strip(" ?")):
        return []
    asked = _asked(parts, text, profile)
    sought = [_is_sought(part, profile) for part in parts]
    if not any((*asked, *sought)):
        return None
    for at, part in enumerate(parts):
        if asked[at] and sum(asked) > 1 and _goes_without(part, profile):
            asked[at], sought[at] = False, True
    found: list[Stated] = []
    before = ""
    is_text = False
    for (is_asked, is_sought), run in groupby(zip(parts, asked, sought, strict=True), lambda part: part[1:]):
        said = "".join(part for part, *_ in run)
        if not (is_asked or is_sought):
            # What a text is to say is nobody's, what its orderer says of themselves may be theirs.
            is_theirs = not is_text or (profile.own.search(said) is not None and _WORKED_ON.search(before) is None)
            found += _run(said, before, profile) if is_theirs else []
            continue
        before = said
        is_text = is_text or _WRITTEN.search(said) is not None
        if not is_asked:
            found.append(Stated(_PLEASE.sub("", said.strip(_END)).strip(_END), is_sought=True))
        elif role := _role_within(said, profile):
            found.append(_as_statement(role, profile))
        found += _told_of_relatives(said, profile)
    return found


def _parts(text: str) -> list[str]:
    """Return the parts of a sentence, each with the comma after it."""
    ends = [comma.end() for comma in _COMMA.finditer(text)]
    return [text[begin:end] for begin, end in pairwise([0, *ends, len(text)]) if begin < end]


def _asked(parts: list[str], text: str, profile: LanguageProfile) -> list[bool]:
    """Return which parts ask or order; a reason before them does not: `como sou celíaca, o que posso comer?`."""
    asked = [_is_asked(part, profile) for part in parts]
    asked[-1] = asked[-1] or QUESTION_MARK.search(text) is not None
    last = max((at for at, is_asked in enumerate(asked) if is_asked), default=0)
    reasons = (at for at in range(last) if asked[at] and _without_since(parts[at], profile))
    for at in reasons:
        asked[at] = False
    return asked


def _is_asked(part: str, profile: LanguageProfile) -> bool:
    plain = profile.without_opening(part).strip(_END)
    if any(kind.search(plain) for kind in (profile.orders, _MARK, _PLEASE)) or _MARK.search(part) is not None:
        return True
    return profile.asks.search(plain) is not None and not _role_before_comma(part, profile)


def _is_sought(part: str, profile: LanguageProfile) -> bool:
    return profile.seeks.search(profile.without_opening(part)) is not None


def _goes_without(part: str, profile: LanguageProfile) -> bool:
    """Return whether a part says politely what its speaker goes without: `sin mariscos, por favor`."""
    plain = _PLEASE.sub("", profile.without_opening(part).strip(_END)).strip(_END)
    return profile.without.match(plain) is not None and not _is_asked(plain, profile)


def _run(said: str, before: str, profile: LanguageProfile) -> list[Stated]:
    """Return what parts state that stand together, after what was asked before them."""
    if before and (said := _without_relative_clause(said, profile)) == "":
        return []
    first, *rest = _parts(said)
    role = _role(profile.without_opening(first).strip(_END), profile)
    found = [_as_statement(role, profile)] if role else []
    if role:
        told = profile.without_opening(first)[len(role) :].lstrip(_END)
        said = "".join([_INVERTED.sub(r"\g<subject> \g<verb>", told), *rest])
    said = _LINKED.sub("", (_without_since(said, profile) or said).strip(_END))
    if not said:
        return found
    request = _PLEASE.sub("", before.strip(_END)).strip(_END)
    left_out = profile.without.search(request)
    if left_out is not None and request.count(" ", left_out.start()) <= _MAX_LEFT_OUT_WORDS:
        said = f"{request[left_out.start() :]}, {said}"
    elif _needs_topic(said, profile) and (topic := only_relative(before)):
        said = f"{topic}, {said}"
    return [*found, Stated(said)]


def _without_relative_clause(said: str, profile: LanguageProfile) -> str:
    """Return what is said without a clause before it that tells of what was asked for: `…, die seit 1920 besteht`."""
    first, *rest = _parts(said)
    is_of_asked = _RELATIVE.match(first) is not None and profile.own.search(first) is None
    return "".join(rest) if is_of_asked else said


def _role_within(asked: str, profile: LanguageProfile) -> str:
    """Return as what somebody asks, at the begin of a question or behind its subject: `darf ich als Rentner …`."""
    begin = _parts(asked)[0]
    if role := _role_before_comma(begin, profile):
        return role
    first = profile.without_opening(begin).strip(_END)
    behind = next((word for word in _WORD.finditer(first) if _SUBJECTS.fullmatch(word[0])), None)
    rest = "" if behind is None else first[behind.end() :].lstrip()
    if profile.roles.match(rest) is None or not _role(rest, profile):
        return ""
    joined = _WITH_PLACE.match(rest)
    return "" if joined is None else joined[0]


def _role_before_comma(part: str, profile: LanguageProfile) -> str:
    """Return the role with which a part begins; it is all of it only before a comma, not in `come dormo meglio?`."""
    plain = profile.without_opening(part).strip(_END)
    role = _role(plain, profile)
    return role if role != plain or _COMMA.search(part) is not None else ""


_WORD = re.compile(r"\w+")
_WITH_PLACE = re.compile(
    r"\w+ (?:une? |eine?r? |een |una? )?[\w-]+(?: (?:in|im|bei|mit|en|de|da|à|chez|op|på) [\w-]+)*"
)
"""A role with where: `als Physiotherapeutin in Elternzeit`."""


def _as_statement(role: str, profile: LanguageProfile) -> Stated:
    """Return that the speaker is what they ask as: `soy diabético` of `como diabético`."""
    named = profile.roles.match(role)
    if named is None or not profile.being:
        return Stated(role, is_whole=True)
    return Stated(f"{profile.being} {role[named.end() :].lstrip()}")


def _told_of_relatives(asked: str, profile: LanguageProfile) -> Iterator[Stated]:
    """Yield the names, ages and traits that a request tells of the speaker's people in passing."""
    for phrase, is_told in own_relatives(asked) or [(only_relative(asked), False)]:
        after = asked[asked.casefold().find(phrase.casefold()) + len(phrase) :] if phrase else ""
        clause = next(iter(_parts(after.lstrip(" ,"))), "")
        joined = _RELATIVE.match(clause)
        is_trait = joined is not None and (
            after[:1] == "," or joined[0] == "qui" or profile.pronouns.match(clause[joined.end() :].lstrip())
        )
        if is_trait:
            yield Stated(f"{phrase}{after[:1]} {clause}".replace("  ", " ").strip(_END))
        elif is_told:
            yield Stated(phrase, is_whole=True)


def _needs_topic(said: str, profile: LanguageProfile) -> bool:
    plain = profile.without_opening(said)
    if profile.pronouns.match(plain) is not None:
        return True
    is_own = profile.own.search(plain) is not None or relative_in_subject(plain) != ""
    return not is_own and not begins_with_name(plain, profile)


def continues_request(sentence: str, topic: str, profile: LanguageProfile) -> str:
    """Return a sentence with whom the request before it named, where it tells of them; otherwise as it is.

    >>> from pipeline.memory.languages.language_detection import detect_language
    >>> continues_request("er hat Gicht", "mein Vater", detect_language("Ich wohne in Graz"))
    'mein Vater, er hat Gicht'
    """
    plain = profile.without_opening(sentence)
    goes_on = topic != "" and profile.pronouns.match(plain) is not None
    return f"{topic}, {plain[:1].lower()}{plain[1:]}" if goes_on else sentence


def _role(part: str, profile: LanguageProfile) -> str:
    """Return what a part says that its speaker is, as which they ask; empty for `als ich` and `como puedo`.

    >>> from pipeline.memory.languages.language_detection import detect_language
    >>> german = detect_language("Ich wohne in Graz")
    >>> _role("Als Bäcker muss ich um 2 raus", german), _role("als ich klein war", german)
    ('Als Bäcker', '')
    """
    named = profile.roles.search(part)
    if named is None or profile.past.search(part) is not None or _NO_ROLES.search(part) is not None:
        return ""
    if named.start() > 0 or named.end() == len(part):  # it stands behind what somebody is
        return part if named.end() == len(part) and _MIN_ROLE_CHARS < len(part) <= _MAX_ROLE_CHARS else ""
    words = part.split(" ")
    count = named[0].count(" ") + 1
    if len(words) <= count or words[count].lower() in profile.stopwords - _ARTICLES:
        return ""
    end = next((at for at in range(count, len(words)) if _acts(words[at], profile)), len(words))
    end -= end < len(words) and _SUBJECTS_BEHIND.fullmatch(words[end]) is not None
    role = " ".join(words[:end])
    is_short = count < end <= count + _MAX_ROLE_WORDS
    return role if is_short and profile.own.search(" ".join(words[count:end])) is None else ""


def _without_since(part: str, profile: LanguageProfile) -> str:
    """Return a reason without `como` or `comme`; empty if it is none."""
    plain = profile.without_opening(part)
    since = _SINCE.match(plain)
    return plain[since.end() :] if since is not None and _acts(plain[since.end() :].split(" ")[0], profile) else ""


_SINCE = re.compile(r"(?:como|comme) (?=\w)", re.IGNORECASE)


def _acts(word: str, profile: LanguageProfile) -> bool:
    """Return whether a word is the speaker as a subject, or a verb of theirs."""
    is_verb = profile.lasting.fullmatch(word) is not None or profile.seeks.match(f"{word} ") is not None
    return is_verb or _SUBJECTS.fullmatch(word) is not None


_SUBJECTS_BEHIND = re.compile("ich|wir|ik|wij|we|jag|vi|jeg", re.IGNORECASE)
_SUBJECTS = re.compile(f"{_SUBJECTS_BEHIND.pattern}|je|j'\\w+|nous|yo|eu|io|saya|aku|ja|я|мы", re.IGNORECASE)
"""The speaker as a subject; in some languages behind the verb."""
_NO_ROLES = re.compile(
    r"\b(?:nachtisch|vorspeise|beilage|geschenk|alternativ|beispiel|ersatz|nächst|erste|dank|hinweis|postre|regalo|ejemplo|"
    r"siempre|sempre|cadeau|exemple|dessert|d'habitude|prévu|antipasto|contorno|esempio|present|exempel|vanligt|sagt|"
    r"sobremesa|acompanhamento|exemplo|bijgerecht|voorbeeld|toetje|deser|przystaw|prezent|przykład|dárek|příklad|подар|"
    r"пример|приклад|hadiah|contoh)\w*",
    re.IGNORECASE,
)
"""What a thing is for, and no person: `als Nachtisch`, `como regalo`."""
_INVERTED = re.compile(rf"(?P<verb>\w+) (?P<subject>{_SUBJECTS_BEHIND.pattern})\b", re.IGNORECASE)
_MIN_ROLE_CHARS, _MAX_ROLE_CHARS = 4, 60
_ARTICLES = frozenset({"un", "una", "une", "uma", "um", "ein", "eine", "einem", "einer", "een", "en", "ett", "uno"})

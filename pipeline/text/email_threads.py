"""E-mails, letters and comments to utterances: who wrote what, when, without what they quote again or sign with."""

import re
from collections.abc import Iterator
from datetime import date
from email.utils import parsedate_to_datetime

from pipeline.text.calendar_day import parse_calendar_day
from pipeline.text.utterance import Utterance

_SECTION = re.compile(
    r"^## (?P<who>[^\n]{1,200}?), (?P<on>\d{4}-\d{2}-\d{2})(?: \d{2}:\d{2} UTC)?[ \t]*$", re.MULTILINE
)
_FROM = r"(?:From|De|Von|Da|Van|Fra|Från|Od)"
_SENT = r"(?:Sent|Date|Gesendet|Datum|Envoyé|Enviado|Fecha|Data|Inviato|Verzonden)"
_FIELD = (
    rf"(?:{_FROM}|{_SENT}|To|Cc|Bcc|Reply-To|Subject|Attachments|À|A|An|Para|Aan|Pour|Objet|Betreff|Asunto|"
    rf"Assunto|"
    r"Oggetto|Onderwerp)"
)
_ANY_FIELD = (
    rf"(?:{_FIELD}|Received|Organi[sz]ation|Sender|Importance|Priority|References|[A-Z][A-Za-z]*(?:-[A-Za-z\d]+)+)"
)
_LINE = rf"(?>[ \t>*]*{_ANY_FIELD}[ \u00a0]?:[^\n]*\n(?:[ \t]+[^\s:][^\n]*\n)*)"
"""A field of a header with its continuation lines."""
_FIELDS = re.compile(rf"^(?>(?:{_LINE}){{2,}})", re.MULTILINE)
"""A run of fields, matched as a whole: with the sender in the pattern the search would be quadratic."""
_SENDER = re.compile(rf"^[ \t>*]*{_FROM}[ \u00a0]?:[^\n]", re.MULTILINE)
"""Mail programs begin with the sender, what is extracted from a file with its subject."""
_WHO = re.compile(rf"^[ \t>*]*{_FROM}[ \u00a0]?:[* \t]*(?P<value>[^\n]*)$", re.MULTILINE)
_WHEN = re.compile(rf"^[ \t>*]*{_SENT}[ \u00a0]?:[* \t]*(?P<value>[^\n]*)$", re.MULTILINE)
_SUBJECT = re.compile(
    r"^[ \t>*]*(?:Subject|Objet|Betreff|Asunto|Assunto|Oggetto|Onderwerp)[ \u00a0]?:[* \t]*(?P<value>[^\n]*)$",
    re.MULTILINE,
)
_PERSON = r"(?:[^\W\d_][^\n,\d]{1,79}?|[^\s<>]+@[^\s<>]+)"
_WROTE = re.compile(
    r"^[ \t]*(?:On|Am|Le|El) (?P<on>[^\n]{4,80}?(?: \d{1,2}[:.]\d{2}(?: ?[AaPp][Mm])?)?)(?:,| at| um| à)? (?:"
    rf"schrieb (?P<then>{_PERSON})(?: <[^>\n]+>)?|"
    rf"(?P<who>{_PERSON})(?: <[^>\n]+>)?\s+(?:wrote|schrieb|a écrit|escribió)) ?:[ \t]*$",
    re.MULTILINE,
)
_FORWARDED = re.compile(
    r"^-{2,} ?(?:Forwarded message|Begin forwarded|Weitergeleitete Nachricht)[^\n]*$|^Begin forwarded message:",
    re.MULTILINE | re.IGNORECASE,
)
"""What follows was written to somebody else."""
_BULK = re.compile(r"\b(?:no-?reply|do-?not-?reply|newsletters?|mailer|notifications?)@", re.IGNORECASE)
_LIST_FIELD = re.compile(r"^[ \t>*]*List-Unsubscribe:", re.MULTILINE | re.IGNORECASE)
_UNSUBSCRIBE = re.compile(
    r"^(?:unsubscribe\b.*|.*\bunsubscribe\b.*(?:https?:|<|\||\bhere\b|\bclick\b).*|"
    r".*(?:https?:|<|\||\bhere\b|\bclick\b).*\bunsubscribe\b.*)$",
    re.IGNORECASE,
)
"""Marks of bulk mail, whose `we` is nobody."""
_MAILING_LIST = re.compile(
    r"^[ \t>*]*List-Post:|^_{5,}[ \t]*$|\b(?:mailing list|google groups?)\b", re.MULTILINE | re.IGNORECASE
)
"""Marks of a mailing list, where people write to each other."""
_FOOTER_LINES = 5
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_QUOTED = re.compile(r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+", re.MULTILINE)
_ADDRESSED = re.compile(rf"^(?:{_ANY_FIELD}: [^\n]*\n?)+", re.MULTILINE)
_SIGNED = re.compile(
    r"^(?:-- ?|_{3,}|(?:best|kind|warm)(?: regards| wishes)?,?|regards,?|cheers,?|thanks,?|thank you,?|sincerely,?|"
    r"yours,?|sent from my [^\n]{1,40}|(?:(?:mit|viele|liebe|beste|herzliche|freundlichen?|"
    r"schöne) )+grü(?:ßen?|ssen?)"
    r"(?: aus \w+)?,?|(?:bien )?cordialement,?|bisous,?|amitiés,?|(?:un )?saludos?,?|un abrazo,?|besos,?|"
    r"atentamente,?|"
    r"(?:com os melhores )?cumprimentos,?|(?:um )?abraços?,?|(?:muito )?obrigad[oa],?|(?:cordiali )?saluti,?|"
    r"(?:met )?(?:vriendelijke )?groet(?:en|jes)?,?|(?:lots of |much )?love,?|(?:yours )?(?:sincerely|faithfully|"
    r"truly),?|"
    r"z poważaniem,?|(?:serdecznie )?pozdrawiam,?|pozdrowienia,?|(?:med )?(?:vänliga? )?hälsning(?:ar)?"
    r",?|saygılarımla,?|sevgiler,?|"
    r"(?:with )?(?:many |best |kind |warm )?(?:regards|wishes),?|take care,?|xx?o?x?,?)[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_NAME = r"(?-i:[^\W\d_a-z\u00e0-\u00ff\u0430-\u044f])[\w'\u2019-]+\.?"
_SALUTATION = re.compile(
    r"\s*(?:(?:Subject|Re|Betreff|Objet|Asunto|Assunto|Oggetto|Onderwerp|Temat|Ämne|Konu)[ \u00a0]?:[^\n]*\n\s*)?"
    r"(?:Dear|Dearest|Hi|Hello|Hey|Hallo|Liebe[rs]?|Sehr geehrte[rs]?|Bonjour|Ch[eè]re?|Hola|Querid[oa]s?|"
    r"Estimad[oa]s?|"
    r"Olá|Prezad[oa]s?|Car[oaie]|Gentile|Ciao|Beste|Lieve|Geachte|Dag|"
    r"Buongiorno|Buonasera|Egregi[oa]|Buen[oa]s (?:días|tardes)|Bom dia|Boa tarde|Hej|Bästa|Dzień dobry|"
    r"Cześć|Szanown[aiy]|Drog[ai]|Sayın|Merhaba|Sevgili)\b"
    rf"(?:[^\n.:?]{{0,50}}[,!]?[ \t]*\n|(?: {_NAME}){{1,3}}, )",
    re.IGNORECASE,
)
"""The first words of a letter, on a line of their own or with a name: `hi Tom, quick one`."""
_SIGNATURE = re.compile(
    rf"(?:\n|(?<=[.!?]) )[ \t]*(?:[^\W\d_][^\n.!?:,\d]{{0,40}}[,!][ \t]*\n?\s*|[^\W\d_]+ ?\n?)?"
    rf"(?P<name>{_NAME}(?: {_NAME}){{0,2}})(?:, [^\n.!?:,]{{2,40}})?\s*\Z",
    re.IGNORECASE,
)
"""The last words of a letter, with the name of its writer and what they are: `Hannes, Obmann`."""
_DATED_SALUTATION = re.compile(rf"(?:[^\n.!?]{{0,60}}\d[^\n.!?]{{0,40}}\n){{1,6}}\s*?{_SALUTATION.pattern}")
"""A salutation below an address and a day."""
_FULL_NAME = re.compile(r"[A-Z][\w'-]+(?: (?:[A-Z][\w'-]*\.?|v[ao]n|de|da|del))*(?: [A-Z][\w'-]+)?")
_ADDRESS = re.compile(r"\s*<[^>]*>\s*")


def parse_thread(text: str) -> list[Utterance]:
    """Utterances of each person of a thread; empty for other texts.

    >>> [(u.speaker, u.text) for u in parse_thread("From: Ann <a@b.c>\\nTo: Bob\\n\\nI moved.\\n")]
    [('Ann', '\\nI moved.\\n')]
    """
    return list(_parse_sections(text)) or list(_parse_mails(text)) or list(_parse_letter(text))


def without_envelope(text: str) -> str:
    """Return a mail without the fields that it begins with, but for its subject, and without its signature."""
    head = _FIELDS.match(text)
    body = text[head.end() :] if head else text
    if head and (subject := _SUBJECT.search(head.group())) is not None:
        body = f"{subject['value']}\n{body}"
    closings = [match for match in _SIGNED.finditer(body) if body.count("\n", match.end()) <= _FOOTER_LINES]
    said = body[: closings[0].start()] if closings else body
    return said if said.strip() else body


def _parse_sections(text: str) -> Iterator[Utterance]:
    """Threads as connectors write them: a heading with the sender and the time, then the text."""
    heads = list(_SECTION.finditer(text))
    if heads and text[: heads[0].start()].strip():
        yield Utterance(None, text[: heads[0].start()], 0)
    for head, end in _with_ends(heads, text):
        yield from _mail_utterances(text, head.end(), end, _name(head["who"]), parse_calendar_day(head["on"]))


def _parse_mails(text: str) -> Iterator[Utterance]:
    """Mails below each other, each with its header."""
    first = _FIELDS.match(text, _skip_whitespace(text, 0))
    if first is None or _SENDER.search(first[0]) is None:
        return
    forwarded = _FORWARDED.search(text)
    own = text if forwarded is None else text[: forwarded.start()]
    for head, end in _with_ends([run for run in _FIELDS.finditer(own) if _SENDER.search(run[0])], own):
        sender, when = (match["value"] if (match := field.search(head[0])) else "" for field in (_WHO, _WHEN))
        on = _parse_mail_date(when)
        if _BULK.search(sender) or _is_bulk(head[0], text[head.end() : end]):
            yield Utterance(_name(sender), "", head.end(), said_on=on)
            continue
        yield from _mail_utterances(text, head.end(), end, _name(sender), on)


def _parse_letter(text: str) -> Iterator[Utterance]:
    """Return a letter without a header by the name below it."""
    if (begin := _SALUTATION.match(text) or _DATED_SALUTATION.match(text)) is None:
        return
    signed = next((match for match in _SIGNED.finditer(text, begin.end()) if _signer(text[match.end() :])), None)
    signer = None if signed is None else _signer(text[signed.end() :])
    if signed is None and (signed := _SIGNATURE.search(text, begin.end())) is not None:
        signer = signed["name"]
    if signed is not None:
        yield Utterance(signer, text[begin.end() : signed.start() + 1], begin.end())


def _is_bulk(header: str, body: str) -> bool:
    """Return whether a mail offers to unsubscribe, in its header or its last lines, and is not of a mailing list."""
    footer = [line.strip() for line in body.splitlines() if line.strip()][-_FOOTER_LINES:]
    offered = _LIST_FIELD.search(header) or any(_UNSUBSCRIBE.match(line) for line in footer)
    return bool(offered) and _MAILING_LIST.search(header + "\n".join(footer)) is None


def _with_ends(heads: list[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Each heading, and where its part ends."""
    for at, head in enumerate(heads, 1):
        yield head, heads[at].start() if at < len(heads) else len(text)


def _mail_utterances(text: str, start: int, end: int, who: str | None, on: date | None) -> Iterator[Utterance]:
    """The new part of a mail, and what it quotes as said by whoever is named for it."""
    forwarded = _FORWARDED.search(text, start, end)
    end = forwarded.start() if forwarded else end
    wrote = _WROTE.search(text, start, end)
    quoted = _QUOTED.search(text, start, end)
    stop = min([end, *(match.start() for match in (wrote, quoted) if match)])
    addressed = _ADDRESSED.match(text, _skip_whitespace(text, start), stop)
    start = addressed.end() if addressed else start
    signed = _SIGNED.search(text, start, stop)
    own = signed.start() if signed else stop
    if signed and (who is None or "@" in who):
        who = _signer(text[signed.end() : stop]) or who
    yield Utterance(who, text[start:own], start, said_on=on)
    if wrote:
        said = "".join(_QUOTE.sub("", block[0]) for block in _QUOTED.finditer(text, wrote.end(), end))
        if said.strip():
            cut = _SIGNED.search(said)
            yield Utterance(
                _name(wrote["who"] or wrote["then"]),
                said[: cut.start()] if cut else said,
                None,
                said_on=_parse_mail_date(wrote["on"]),
            )
    elif quoted:
        # Answers between quotations: what stands after each is the writer's own.
        for block in _QUOTED.finditer(text, stop, end):
            upto = _QUOTED.search(text, block.end(), end)
            yield Utterance(who, text[block.end() : upto.start() if upto else end], block.end(), said_on=on)


def _skip_whitespace(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _name(sender: str) -> str | None:
    name = _ADDRESS.sub("", sender).strip(" \t\"'*")
    return name or sender.strip(" <>") or None


def _signer(signature: str) -> str | None:
    """Return the name that begins the first line of a signature, alone or before what they are: `Rita, secretary`."""
    line = next((line.strip(" \t*,") for line in signature.splitlines() if line.strip()), "")
    first = line.partition(", ")[0]
    return first if _FULL_NAME.fullmatch(first) else None


def _parse_mail_date(written: str) -> date | None:
    """The day of a header in the forms that mail programs write; None where it is unclear."""
    try:
        return parsedate_to_datetime(written).date()
    except (ValueError, OverflowError):
        return parse_calendar_day(written)

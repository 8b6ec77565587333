"""Speaker attribution: prose, transcripts (`Name: text`), JSON chats and e-mail threads to utterances."""

import re
from collections import Counter
from datetime import date
from typing import NamedTuple

from pipeline.text.calendar_day import is_day_first, parse_calendar_day
from pipeline.text.chats.message import Message, utterances_of
from pipeline.text.chats.message_objects import object_messages
from pipeline.text.chats.role_markers import marked_messages
from pipeline.text.chats.roles import (
    FIRST_PERSON,
    FIRST_PERSON_WORDS,
    MACHINES,
    UNSPACED_FIRST_PERSON,
    WRITERS,
    is_machine,
    is_writer,
)
from pipeline.text.chats.speaker_labels import labelled_messages
from pipeline.text.chats.subtitles import subtitle_messages
from pipeline.text.email_threads import parse_thread
from pipeline.text.english_nouns import RELATIVES, own_noun
from pipeline.text.english_verbs import word_set
from pipeline.text.utterance import TEAM, Utterance

_NAME = r"[^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,2}(?: \d{1,4}(?= ?[(:]))?"
_STAMP = (
    r"(?P<stamp>[\[(][^\])\n]{1,40}[\])]\s*|"
    r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? )?\d{1,2}:\d{2}(?::\d{2})?\s*(?:[AaPp][Mm])?\s*[-\u2013]?\s+)?"
)
_TURN = re.compile(
    rf"^[ \t]*+(?:[-\u2022*] )?[*_]*+{_STAMP}[*_]*+@?(?P<name>{_NAME})[*_]*+(?: ?\([^)\n]{{1,40}}\))?[*_]*+"
    r"(?:[ \u00a0\u202f]?:[*_]*[ \t]+|\uff1a[ \t]*)(?P<said>\S.*)$"
)
_IRC_TURN = re.compile(rf"^[ \t]*{_STAMP}<[@+~&% ]?(?P<name>[^\s<>/]{{1,30}})>[ \t]+(?P<said>\S.*)$")
_TAB_TURN = re.compile(r"^(?P<stamp>\d{1,2}:\d{2})\t(?P<name>[^\t\n]{1,30})\t(?P<said>\S.*)$")
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?"
_CLOCKED = re.compile(_CLOCK)
_DAY = (
    r"(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?|[A-Z][a-z]{2,8}\.? \d{1,2}(?:, \d{4})?|"
    r"\d{1,2} [A-Z][a-z]{2,8}\.?(?: \d{4})?)"
)
_AGO = r"(?:\d{1,2}|an?) ?(?:m|min|h|hr|d|w|wk|mo|y|yr|minute|hour|day|week|month|year)s?\.?(?: ago)?"
_HEADED = re.compile(
    rf"^(?P<name>{_NAME})(?: APP)?(?:[ \t]+(?:[\u2014-] )?)(?:(?:Today|Yesterday|Heute|Gestern|{_DAY}),? (?:at |um )?)?"
    rf"\[?{_CLOCK}\]?[ \t]*$"
)
"""A name and a time above what is said, as Slack and Discord copy it."""
_POSTED = re.compile(
    rf"^(?:\[[^\]\n]*\d:\d\d[^\]\n]*\] (?P<last>{_NAME}), (?P<first>{_NAME})|(?P<written>{_NAME}), \[(?:{_DAY},? "
    rf")?{_CLOCK}\]|(?:r/\w+ [\u2022\u00b7] )?(?:Posted by )?u/(?P<member>[\w-]+)(?: OP)?(?: [\u2022\u00b7])? {_AGO}|"
    rf"(?P<shown>{_NAME}) @\w+ \u00b7 (?:{_DAY}|{_AGO})|by (?P<poster>[\w.-]+) \u00bb [^\n]{{4,40}})[ \t]*$"
)
"""Headings of Teams, Telegram, Reddit, X and forums."""
_QUOTING = re.compile(r"^(?P<name>[\w.-]{2,30}) (?:wrote|said|schrieb|a écrit|escribió):[ \t]*$")
"""Begin of a quotation in a forum, up to the next blank line."""
_NAME_ALONE = re.compile(rf"^(?:{_NAME}|[\w.-]{{3,30}})[ \t]*$")
_TIME_ALONE = re.compile(
    rf"^(?:Posted (?:in|on)[^\n]{{0,60}}?[>:] )?(?:Today|Yesterday|Heute|Gestern|Hier|{_DAY}),?(?: at| um| à)? "
    rf"{_CLOCK}[ \t]*$"
)
_COPIED = re.compile(r" APP\b|\d ?[AaPp][Mm]\b|\b(?:Today|Yesterday|Heute|Gestern|at|um) |[\d/.]+ \[?\d|[\[\u2014]")
"""What only a copied heading has; a diary too has words with a time, such as `Gym 8:00`."""
_PERSONAL = re.compile(rf"\b(?:{FIRST_PERSON_WORDS}|you|your|du)\b|{UNSPACED_FIRST_PERSON}", re.IGNORECASE)
_ROLES = frozenset({"user", "human"})
"""Who speaks in a chat with an assistant, as programs write it."""
_NOT_NAMES = word_set(
    "note notes status title date summary todo warning example price name email phone address tip info important "
    "subject from to cc bcc sent re fw fwd question answer q a ps p.s step version author owner deadline update "
    "correction news reminder edit agenda attendees location time type result output input returns args usage see "
    "default goal context problem solution reason decision action http https fact facts hint caution error fix monday "
    "tuesday wednesday thursday friday saturday sunday january february march july september october november december "
    "what why how who where when plan mood sleep food work weight todos done doing blocked next yesterday today "
    "tomorrow breakfast brunch lunch dinner supper snack meeting standup morning noon afternoon evening night present "
    "absent blockers journal diary log debug trace warn fatal critical notice type priority status assignee reporter "
    "venue objet betreff asunto assunto oggetto reddit twitter instagram facebook linkedin github youtube website blog "
    "wifi pin code pros cons ingredients requirements skills education experience summary languages objective "
    "handbook manual guide runbook playbook checklist specification spec design rfc adr proposal memo report review "
    "survey recipe policy onboarding security glossary faq ticket issue incident post-mortem postmortem mail letter "
    "offer contract product brief profile workshop lesson backlog roadmap release changelog handbuch leitfaden angebot "
    "requester diary diário diario journal tagebuch carnet dagboek dagbok dziennik deník "
    "дневник 日記 日誌 日记 günlük 일기 "
    "rsvp hinweis achtung wichtig notiz nota aviso importante remarque rappel attention avviso attenzione promemoria "
    "opmerking uwaga pozor poznámka viktigt obs huom megjegyzés napomena catatan dikkat "
    "внимание важно "
    "riddle joke homework shop boutique handover übergabe "
    "temat ämne onderwerp konu anwesend teilnehmer obecni nieobecni "
    "närvarande presenti presentes présents aanwezig afwezig 出席 欠席 参加者 "
    "decided agreed actions minutes apologies chair tbd faq quote source credit photo caption update eta tl;dr tldr"
)
_ABSTRACT = re.compile(
    r"\w{2,}(?:[ts]ion|ness|ings?|logy|graphy|ship|ware|error|exception|tagebuch|dagbo[ek]k|notiz|日誌|日記)s?$",
    re.IGNORECASE,
)
"""Endings of nouns that are no names."""
_CHANNEL = re.compile(r"#[\w-]+$")
_MIN_TURN_SHARE = 0.6
"""Least share of a text's lines that begin with a small name where it is read as a chat."""
_STAMPED = re.compile(r"[^\S\n]*+(?:[-\u2022*] )?[*_]*+[\[(]?[^\n:]{0,24}\b\d{1,2}:\d{2}")
_BULLET = re.compile(r"[ \t]*[-\u2022*] (?=\S)")
_Turn = tuple[str, int, int, date | None]
"""Name, start, end, and the day where it is stamped."""


def parse_utterances(text: str) -> list[Utterance]:
    """A document's text by who says it; assistants and tools are left out.

    >>> [(u.speaker, u.text) for u in parse_utterances("Ann: I like tea.\\nBob: I prefer milk.")]
    [('Ann', 'I like tea.\\n'), ('Bob', 'I prefer milk.')]
    """
    if messages := object_messages(text) or marked_messages(text):
        return [*utterances_of(messages)]
    if thread := parse_thread(text):
        return thread
    messages = subtitle_messages(text) or _transcript(text) or labelled_messages(text, _is_speaker_name)
    return [*utterances_of(messages)] or [Utterance(None, text, 0)]


class TurnSpan(NamedTuple):
    """Start and end of a turn in its transcript, name included, and whether an assistant speaks."""

    start: int
    end: int
    is_machine: bool


def transcript_turns(text: str) -> list[TurnSpan]:
    """Return the turns of a transcript; none for any other text.

    Turns are contiguous: text before the first name belongs to the first turn.

    >>> [tuple(turn) for turn in transcript_turns("User: I like tea.\\nAssistant: Noted.")]
    [(0, 18, False), (18, 35, True)]
    """
    found = _turns(text)
    if not found or not _is_transcript(text, found):
        return []
    ends = [end for _, _, end, _ in found]
    machines = [is_machine(name) for name, _, _, _ in found]
    return [TurnSpan(*turn) for turn in zip([0, *ends], ends, machines, strict=False)]


def _transcript(text: str) -> list[Message]:
    turns = _turns(text)
    if not turns or not _is_transcript(text, turns):
        return []
    return [Message(name, text[start:end], start, on) for name, start, end, on in turns]


def _turns(text: str) -> list[_Turn]:
    """Lines without a name belong to the turn before them, but for items of a list whose items begin with names."""
    turns: list[_Turn] = []
    interrupted: str | None = None
    bullets = Counter[str]()  # of items that begin with a name
    position = 0
    lines = text.splitlines(keepends=True)
    heads = Counter(head["name"] for line in lines if (head := _HEADED.match(line.rstrip("\r\n"))))
    is_markup = "</" in text
    named = _named_lines(lines)
    day_first = is_day_first(turn["stamp"] for turn in named if turn and turn["stamp"])
    handles = _chat_handles(lines, named)
    for at, (line, turn) in enumerate(zip(lines, named, strict=True)):
        end = position + len(line)
        written = line.rstrip("\r\n")
        spoken = _TAB_TURN.match(written) or (None if is_markup else _IRC_TURN.match(written))
        match = spoken or turn
        if match and (
            _is_speaker_name(match["name"])
            or match["name"] in handles
            or ((spoken or match["stamp"]) and _is_handle(match["name"]))
        ):
            on = parse_calendar_day(match["stamp"], day_first=day_first) if match["stamp"] else None
            turns.append((match["name"], position + match.start("said"), end, on))
            if (item := _BULLET.match(written)) is not None:
                bullets[item[0]] += 1
        elif at + 1 < len(lines) and _is_heading(written, lines[at + 1]):
            turns.append((written.strip(), end + len(lines[at + 1]), end, parse_calendar_day(lines[at + 1])))
        elif (poster := _poster(written) or _copied_name(written, heads)) is not None:
            turns.append((poster, end, end, parse_calendar_day(written)))
        elif turns and (quoting := _QUOTING.match(written)) is not None:
            interrupted = turns[-1][0]
            turns.append((quoting["name"], end, end, None))
        elif turns and interrupted is not None and not written.strip():
            turns.append((interrupted, end, end, None))
            interrupted = None
        elif (item := _BULLET.match(written)) is not None and bullets[item[0]] > 1:
            turns.append((TEAM, position + item.end(), end, turns[-1][3]))
        elif turns:
            name, start, _, on = turns[-1]
            turns[-1] = (name, start, end, on)
        position = end
    return turns


def _named_lines(lines: list[str]) -> list[re.Match[str] | None]:
    """Match lines that begin with a name; where half have a time, others, as `WhatsApp: Family`, are text."""
    named = [_TURN.match(line.rstrip("\r\n")) for line in lines]
    timed = [turn if turn and _CLOCKED.search(turn["stamp"] or "") else None for turn in named]
    is_exported = sum(map(bool, timed)) >= max(2, sum(map(bool, named)) / 2)
    return timed if is_exported else named


def _is_heading(line: str, below: str) -> bool:
    """Return whether a line is a name above the day and time of its post, as forums show it."""
    return _NAME_ALONE.match(line) is not None and _TIME_ALONE.match(below) is not None


def _poster(line: str) -> str | None:
    """Return who is named by the heading of a message or a post."""
    match = _POSTED.match(line)
    if match is None:
        return None
    if match["last"] is not None:
        return f"{match['first']} {match['last']}"
    return str(match["written"] or match["member"] or match["shown"] or match["poster"])


def _copied_name(line: str, heads: Counter[str]) -> str | None:
    """Return the name in a heading with a time; `heads` counts the names of all lines that may be one."""
    head = _HEADED.match(line)
    if head is None or not (_is_speaker_name(head["name"]) or (_COPIED.search(line) and _is_handle(head["name"]))):
        return None
    is_chat = _COPIED.search(line) or max(heads.values()) > 1 or (len(heads) > 1 and " " in head["name"])
    return head["name"] if is_chat else None


def _chat_handles(lines: list[str], named: list[re.Match[str] | None]) -> frozenset[str]:
    """Small names without a time (`mira: I'm on call`) where most lines begin with one, and it is no list of fields.

    It is a chat if a name comes back, or below a channel's name, or if all lines begin so and go on in small letters,
    as people type. One that comes back is enough among other names: `mamá: ...` and `Pablo: ...`.
    """
    written = [stripped for line in lines if (stripped := line.strip())]
    unstamped = [turn for turn in named if turn is not None and not turn["stamp"]]
    turns = [turn for turn in unstamped if turn["name"].islower() and _is_handle(turn["name"])]
    names = Counter(turn["name"] for turn in turns)
    if len(unstamped) == len(written) and _comes_back([turn["name"] for turn in unstamped]):
        return frozenset() if any(map(_is_field, names)) else frozenset(names)
    if len(names) < 2 or len(turns) < _MIN_TURN_SHARE * len(written) or any(map(_is_field, names)):
        return frozenset()
    is_typed = len(turns) == len(written) and all(turn["said"][0].islower() for turn in turns)
    is_chat = _CHANNEL.match(written[0]) is not None or max(names.values()) > 1 or is_typed
    return frozenset(names) if is_chat else frozenset()


def _is_field(name: str) -> bool:
    return own_noun(name) is not None and name not in RELATIVES


def _is_handle(name: str) -> bool:
    """Return whether a word beside a time may be a small name: `alice - Today at 10:31`, `[10:31] alice: hi`."""
    return " " not in name and name.casefold() not in _NOT_NAMES


def _is_speaker_name(name: str) -> bool:
    folded = name.casefold()
    first, *others = folded.split()
    if folded in WRITERS | MACHINES:
        return True
    if first in _NOT_NAMES or first.endswith("n't") or _is_field(folded) or _ABSTRACT.fullmatch(folded):
        return False
    words = [word for word in name.split() if not (others and word.isdigit())]
    return all(word[0].isupper() or not word[0].isascii() for word in words)


def _is_transcript(text: str, turns: list[_Turn]) -> bool:
    """Names that come back, roles, times, or a single turn in the first person; and the document begins with one."""
    if text[: turns[0][1]].strip().count("\n") > 3:
        return False
    names = Counter(name for name, *_ in turns if name != TEAM)
    is_answered = any(map(is_machine, names))
    if names.keys() <= _ROLES:
        return True
    if is_answered and any(map(is_writer, names)):
        return True
    # What is listed once each, such as `Files: choose yours`, speaks of the reader.
    spoken = _PERSONAL if max(names.values()) > 1 or len(turns) == 1 else FIRST_PERSON
    personal = sum(1 for _, start, end, _ in turns if spoken.search(text, start, end))
    if _is_exchange(turns, text):
        return True
    if not (personal or all(_is_stamped(text, start) for _, start, _, _ in turns)):
        return False
    if len(turns) == 1:
        return True
    return len(names) <= max(2, len(turns) * 2 // 3) or personal * 2 >= len(turns)


def _is_exchange(turns: list[_Turn], text: str) -> bool:
    """Return whether somebody speaks again after another, and each line has its speaker but for a title above."""
    lines = sum(bool(line.strip()) for line in text[text.find("\n", 0, turns[0][1]) + 1 :].splitlines())
    return len(turns) == lines and _comes_back([name for name, *_ in turns])


def _comes_back(names: list[str]) -> bool:
    """Return whether somebody speaks again after another."""
    changes = [name for name, before in zip(names, ["", *names], strict=False) if name != before]
    return len(set(changes)) < len(changes)


def _is_stamped(text: str, said: int) -> bool:
    """Return whether the line, or the heading above it, in which something is said begins with a time."""
    return _STAMPED.match(text, text.rfind("\n", 0, said) + 1) is not None

"""Attribution of a document's words: speech, which says something of its speaker, or a text about things. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from pipeline.memory.formation.pasted_material import begins_role_play, blank_end_of_role_play, blank_pasted
from pipeline.memory.languages.english import english_pattern
from pipeline.memory.languages.language_detection import detect_language
from pipeline.memory.languages.listed_items import is_list
from pipeline.memory.languages.profiles import words_of_all
from pipeline.text.email_threads import parse_thread
from pipeline.text.english_nouns import KIN
from pipeline.text.english_verbs import is_past, is_third_person, word_set
from pipeline.text.speaker_attribution import parse_utterances
from pipeline.text.utterance import TEAM, Utterance
from pipeline.text.word_lists import list_pattern, read_list

SPOKEN_TYPES = frozenset({"text", "markdown", "chat", "email", "json"})
"""Types of documents that may hold speech; files and pages are about things."""
_OWN_TYPES = SPOKEN_TYPES - {"email"}
"""Types whose words may be the user's; a mail says who wrote it."""
_ABOUT_USER = re.compile(r"(?:the )?user(?:s?['\u2019]s?)?\b", re.IGNORECASE)
_USER = re.compile(r"\bUser\b")
_MENTIONS_USER = re.compile(r"\buser", re.IGNORECASE)
CONNECTOR_KEYS = frozenset({"provider", "connector"})
"""Metadata of a document that a connector submitted."""
SHORT_TEXT_CHARS = 600
"""A plain text up to this length is a note of its writer, unless it reads like an excerpt."""
MIN_FIRST_PERSON_SHARE = 0.2
"""Share of sentences with `I` or `my` from which a longer text is a note or a journal."""
MIN_FIRST_PERSON_SHARE_OF_SYNCED = 0.5
"""The same of a document that a connector brought: speeches and interviews of others are in the first person too."""
_SENTENCE = re.compile(r"[^.!?\n]{12,}")
_FIRST = re.compile(
    r"\b(?:I|I['\u2019](?:m|ve|ll|d)|my|me|i['\u2019]?m|i(?:['\u2019](?:ve|ll|d)| (?:am|was|have|had|just|got|went|"
    r"need|moved|can|will|don't|work|live))|(?i:ich|je|j['\u2019]\w+|yo|io|eu|ik|jag|mein\w*|mi[oa]?|meus?|minhas?|mijn|"
    r"benim))\b|[我私僕]"
)
_BOILERPLATE = re.compile(english_pattern("boilerplate"), re.IGNORECASE)
_LEGAL = re.compile(rf"\b(?:{english_pattern('legal_terms')})\b", re.IGNORECASE)
MAX_LEGAL_TERMS_PER_1000_CHARS = 1.5
_TITLE_CHARS = 100
_TOLD = (
    "said|asked|replied|answered|whispered|shouted|cried|muttered|sagte|fragte|dit|demanda|dijo|preguntó|disse|"
    "chiese|perguntou|zei|vroeg"
)
_QUOTE = '["\u201c\u201d\u201e\u00ab\u00bb]'
_DIALOGUE = re.compile(
    rf"{_QUOTE}[^\"\u201c\u201d\u201e\u00ab\u00bb\n]{{2,300}}(?:[,.!?\u2026]{_QUOTE}|{_QUOTE},) "
    rf"(?:[\w'\u2019]+ ){{0,3}}(?:{_TOLD})\b"
)
"""Direct speech with who said it, as in stories."""
_MIN_DIALOGUES = 3


@cache
def _boilerplate_title() -> re.Pattern[str]:
    return re.compile(list_pattern(read_list("boilerplate_titles").split(), as_written=True), re.IGNORECASE)


_LETTER = re.compile(
    r"^[ \t]*Dear (?P<who>(?:(?:Mrs?|Ms|Miss|Dr|Prof)\.? )?(?!(?:Sirs?|Madam|Diary|Team|Santa|\w+s)\b)[A-Z][\w'-]+"
    r"(?: [A-Z][\w'-]+){0,2}) *,?[ \t]*$",
    re.MULTILINE,
)
_YOURS = re.compile(r"\byour\b(?! (?:own|self))", re.IGNORECASE)
_YOU = re.compile(r"\byou (?P<verb>are|have|will)\b|\byou'(?P<short>re|ve|ll)\b", re.IGNORECASE)
_THIRD = {"are": "is", "have": "has", "will": "will", "re": "is", "ve": "has", "ll": "will"}


@dataclass(frozen=True, slots=True)
class Passage:
    """An utterance, whether its speaker speaks of themselves, to whom, in a letter, and the title of a team's page."""

    utterance: Utterance
    is_speech: bool
    addressee: str | None = None
    title: str = ""
    is_case: bool = False

    @property
    def is_list(self) -> bool:
        """True if it is a note or minutes whose lines are items."""
        said = self.utterance
        is_note = self.is_speech and said.speaker in (None, TEAM) and not (said.is_chat or self.addressee)
        return is_note and is_list(said.text)

    def is_field(self, line: str) -> bool:
        """Return whether a line of a curriculum says when its writer did what."""
        return _CURRICULUM.match(self.utterance.text) is not None and any(map(str.isdigit, line))

    def span(self, start: int, end: int) -> tuple[int | None, int | None]:
        """Return where a part of it stands in the document."""
        offset = self.utterance.start
        return (None, None) if offset is None else (offset + start, offset + end)

    def with_names(self, sentence: str) -> str:
        """Return a sentence of a letter with its addressee by name, and of a case's notes with whom they are about.

        What the writer of such notes did to them is left out.

        >>> letter = Passage(Utterance(None, "", 0), True, "Mr. Lee")
        >>> letter.with_names("Your notice period is three months.")
        "Mr. Lee's notice period is three months."
        >>> notes = Passage(Utterance("Mrs. Roy", "", 0), True, is_case=True)
        >>> notes.with_names("lives alone"), notes.with_names("Offered a new key.")
        ('Mrs. Roy lives alone.', '')
        """
        if self.is_case:
            # As a sentence: `- allergic to kiwi` would be taken for a title.
            stop = "." if sentence[-1:].isalnum() else ""
            return _of_case(self.utterance.speaker, f"{sentence[:1].upper()}{sentence[1:]}{stop}")
        who = self.addressee
        if who is None:
            return sentence
        named = _YOURS.sub(f"{who}'s", sentence)
        return _YOU.sub(lambda match: f"{who} {_THIRD[(match['verb'] or match['short']).lower()]}", named)


_MINUTES = re.compile(
    r"\s*+#*+ *+(?:minutes|meeting notes|notes from the meeting|protocol|retro(?:spective)?(?: notes)?|"
    r"stand-?up notes)\b(?= *(?:\n|\Z|[:,(\u2013\u2014-]|\w+day\b|(?:of|from|for|on) (?!my\b))|[^.!?\n]{0,60}\d)|"
    r"\s*+#*+ *+(?:(?:besprechungs|sitzungs)?protokoll?|acta de|(?:compte[ -]rendu|cr(?= réunion))|"
    r"procès-verbal|verbale|ata d[aeo]|"
    r"notulen|verslag|note d(?:i|el|ella) (?:riunione|visita)|notas d[ae] (?:la )?reuni\S+|protokół|notatka|"
    r"zápis|протокол|محضر|회의록|"
    r"会议纪要|"
    r"議事録|(?:打ち合わせ|会議)メモ)(?:[^.!?\n:]|(?<=\d)\.){0,60}(?:\n|\Z|:)|"
    r"(?:[^\n]*\n){0,4}[*_# -]*(?:(?:attendees|participants|in attendance|anwesend|teilnehmer|asistentes|presentes|"
    r"présents|presenti|aanwezig|asisten|obecni|närvarande)[*_]* ?:|"
    r"(?:参加者|出席)[:\uff1a]|present[*_]*:(?=[^\n.]*(?:,|\n)))",
    re.IGNORECASE,
)
_GREETING = rf"(?:Dear|Hello|Hi) (?:{english_pattern('addressed_groups')})\b"
_PUBLIC = re.compile(
    rf"^[ \t]*{_GREETING}|^[*#_ ]*(?:Release [Nn]otes|Patch [Nn]otes|Changelog|What's [Nn]ew|FAQs?|"
    rf"(?:Poll|Quiz|Survey)(?: [Rr]esults?)?(?=:))\b|\b[Oo]ur (?:{english_pattern('own_of_institutions')})\b",
    re.MULTILINE,
)
"""The same, and what is an institution's own."""
_TO_TEAM = re.compile(
    r"(?:\A\s*|^[ \t]*)(?:(?:hi|hello|hey|dear|good morning|hallo|liebes?|bonjour|salut|hola|buenos días|olá|"
    r"bom dia|ciao|buongiorno|hoi|dag|beste|cześć|dzień dobry|drodzy|hej|merhaba|"
    r"уважаемые)[ ,])?(?:all|team|everyone|everybody|folks|colleagues|"
    r"parents|members|neighbou?rs|residents|families|guests|volunteers|zusammen|alle|kolleg(?:en|innen)\b[\w ]*|"
    r"(?:à )?tous|tout le monde|(?:a )?tod[oa]s|equipo|equipa|pessoal|chicos|(?:a )?tutti|ragazz[ie]|allen|"
    r"allemaal|collega['\u2019]?s|wszyscy|wszystkim|zespół|koledzy|alla|teamet|ekip|arkadaşlar|"
    r"herkese(?: merhaba)?|коллеги|колеги|"
    r"всем привет)\b(?= ?[,!:\n\u2013-]+|$)|"
    r"^(?:各位|大家好|皆さん|皆様|여러분)",
    re.MULTILINE | re.IGNORECASE,
)
"""A greeting to several."""
_OF_TEAM = re.compile(
    r"\W*(?:#[\w-]+|(?:[\w-]+ ){0,2}(?:stand-?up|daily|sprint|sync|retro(?:spective)?|check-?in)\b"
    r"[^\n!?]{0,24})\s*$",
    re.IGNORECASE,
)
"""Titles of what a team says to each other."""
_TITLES = re.compile(r" (?:Monthly|Weekly|Newsletter|News|Bulletin|Gazette|Newspaper)$")
_INSTITUTION = re.compile(
    r"[*_# ]*(?P<name>(?:[^\W\d_a-z][\w.'&-]*|of|the|and|&|for|de|des?|la|der|für)(?: (?:[^\W\d_a-z][\w.'&-]*|of|"
    r"the|and|&|for|de|des?|la|der|für)){0,7})[*_]*\s*(?:\n|\Z)"
)
_INSTITUTIONS = re.compile(rf"(?:{english_pattern('institutions')})\b", re.IGNORECASE)
_FORM = re.compile(
    r"^[*_# ]*(?:Patient(?:in)?|Client|Tenant|Employee|Applicant|Passenger|Guest|Student|Pupil|Resident|Insured|"
    r"Candidate)(?: name|'s name)?[*_]*: *(?P<who>(?-i:[^\W\d_a-z])[\w'-]+(?: "
    r"(?-i:[^\W\d_a-z])(?:(?-i:[^\W\d_A-Z])[\w'-]*|\.)){1,2})",
    re.MULTILINE,
)
"""A form's field of whom its other fields are about."""
_CURRICULUM = re.compile(
    r"\s*+[\\*_# ]*+(?!resume (?-i:[A-Z]))(?:curriculum vitae|cv|r[eé]sum[eé]|lebenslauf|curr[ií]culum|"
    r"životopis|życiorys)[*_: \u2013-]*(?:\n\s*|(?<=\W)(?:of |von |de |di )?)"
    r"(?P<who>(?-i:[^\W\d_a-z])[\w'-]+(?: (?-i:[^\W\d_a-z])[\w'.-]*){1,3})[ \t]*\n",
    re.IGNORECASE,
)
"""Whose life a curriculum is."""
_CASE = re.compile(
    r"\b(?:[Cc]ustomer|[Cc]lient|[Pp]atient|[Cc]aller|[Tt]enant|[Aa]pplicant|[Cc]andidate|[Gg]uest) "
    r"(?P<who>(?:Mrs?|Ms|Miss|Dr)\.? [A-Z][\w'-]+|[A-Z][a-z][\w'-]* [A-Z][a-z][\w'-]*)"
)
"""Whom notes of a call or a visit are about."""
_NOTES_OF = re.compile(
    r"\s*+[*_# ]*+(?:[\w'-]+ ){0,3}?(?:meeting|summary|(?:interview|session|case|visit) notes?|visit|session|interview|"
    r"report|assessment|review|appointment|check-?up|consultation|referral|intake|handover|appraisal|evaluation)[*_]*"
    r"(?:,|:| [\u2013-]) *(?P<who>(?:(?:Mrs?|Ms|Miss)\.? )?(?:(?-i:[A-Z][a-z])[\w'-]*(?: (?-i:[A-Z])[\w'-]*)?|"
    r"(?P<initial>(?-i:[A-Z])(?=\.|\n))))\.?"
    r"(?P<of> ?\([^()\n]{1,20}\)| ?, \d{1,3}\b[^\n]*)?[*_ ]*(?=\n|\Z)",
    re.IGNORECASE,
)
"""Title of notes with whom they are about: `Parent-teacher meeting, Mila (4b)`, `Discharge summary: Mr. Reid, 71`."""


_TITLED = re.compile(r"\b(?:Mrs?|Ms|Miss)\.? (?:[A-Z][\w'-]+(?: [A-Z][\w'-]+)?|[A-Z](?=\.|\b))")
_BEGINS = re.compile(r"(?:^|[.!?;)] )([A-Z][a-z]+) ", re.MULTILINE)
_MIN_UNNAMED = 2
"""Sentences without a subject, as in `Lives alone`, by which notes are about the only person that they name."""


def _of_case(who: str | None, sentence: str) -> str:
    verb, _, rest = sentence.partition(" ")
    if verb.lower() in KIN:
        return f"{who}'s {verb.lower()} {rest}"
    if _is_of_case(verb.lower()):
        return f"{who} {verb.lower()} {rest}"
    if verb.lower() in _UNDERGONE:
        return f"{who} was {verb.lower()} {rest}"
    return "" if is_past(verb.lower()) else sentence


def _is_of_case(verb: str) -> bool:
    return is_third_person(verb) or verb in _OF_CASES


_OF_CASES = word_set("refuses reports denies declines attends complains presents requests struggles suffers describes")
"""Verbs of those whom notes are about, beside the everyday ones."""
_UNDERGONE = word_set("admitted discharged diagnosed prescribed referred transferred treated enrolled assessed")
"""Pasts of what was done to whom notes are about."""
_HEADING = re.compile(r"\s*+[^\n]{1,100}(?<![.!?:;,\u3002])(?=[ \t]*\n\s*\S)")
_REPORTER = re.compile(
    r"^[*_# ]*(?:Reporter|Reported by|Raised by|Opened by|Submitted by|Requester|Author)[*_]*: *"
    r"(?P<who>(?-i:[^\W\d_a-z])[\w'-]+(?: (?-i:[^\W\d_a-z])[\w'-]*){0,2})[ \t]*(?:[(,][^\n]*)?$",
    re.MULTILINE,
)
"""Who has written a ticket."""
_STOP = re.compile(r"[.!](?=\s|$)|\u3002")
_WE = re.compile(
    r"\b(?:we|our|us|wir|unser\w*|nous|notre|nos|nosotros|nuestr\w+|noss\w+|noi|nostr\w+|wij|ons|onze)\b", re.IGNORECASE
)
_KIND = re.compile(rf"\b(?:{english_pattern('titles_of_firms')})\b", re.IGNORECASE)
_CALLER = re.compile(
    r"\W*(?:(?:hi|hey|hello|hiya)\b[\w ,!]{0,20}?\b)?(?:it'?s|this is) (?:your )?"
    r"(?P<who>mum|mom|dad|mother|father|grandma|grandpa|granny|nana)\b(?=$|[.,!]| here| again)",
    re.IGNORECASE,
)
"""Who has left the message that the user keeps: `Hey it's mum, I'm at the airport`."""


def find_passages(text: str, document_type: str = "text", *, is_synced: bool = False) -> Iterator[Passage]:
    """Yield what a document says and who says it; nothing for boilerplate. `is_synced`: a connector brought it."""
    utterances = parse_utterances(text)
    case: str | None = None
    if len(utterances) == 1:
        named = _named_in(text, utterances[0])
        case = _case(text, utterances[0]) if named is None else None
        utterances = _attributed(text, utterances[0], named or case, is_synced=is_synced)
    is_attributed = len(utterances) > 1 or any(
        utterance.speaker is not None or utterance.is_chat for utterance in utterances
    )
    in_role = False
    for said in utterances:
        ended = blank_end_of_role_play(said.text) if in_role and said.speaker is None else None
        in_role = in_role and ended is None
        utterance = said if ended is None else replace(said, text=ended)
        if in_role and utterance.speaker is None:
            continue
        in_role = in_role or (utterance.is_chat and utterance.speaker is None and begins_role_play(utterance.text))
        is_speech = is_attributed or (document_type in SPOKEN_TYPES and is_note(utterance.text, is_synced=is_synced))
        is_letter = words_of_all("public").match(utterance.text.lstrip())
        greeting = _TO_TEAM.match(utterance.text)
        is_to_team = greeting is not None and not _names_writer(utterance.text)
        if utterance.speaker is None and is_speech and (is_letter or is_to_team):
            begin = greeting.end() if greeting is not None and is_to_team else 0
            utterance = replace(utterance, speaker=TEAM, text=" " * begin + utterance.text[begin:])
        if utterance.speaker is None and (document_type not in SPOKEN_TYPES or _PUBLIC.search(utterance.text)):
            is_speech = False
        if not (is_speech and utterance.is_chat) and is_legal(utterance.text):
            continue
        letter = None if utterance.is_chat else _LETTER.search(utterance.text)
        if letter is not None and utterance.speaker is None and not _FIRST.search(utterance.text):
            is_speech = False
        spoken = replace(utterance, text=blank_pasted(utterance.text)) if is_speech else utterance
        addressee = None if letter is None else letter["who"]
        yield Passage(spoken, is_speech, addressee, _title(text, utterance), case is not None)


def _names_writer(text: str) -> bool:
    """Return whether a text says something of who wrote it."""
    language = detect_language(text)
    return _FIRST.search(text) is not None or (language is not None and language.own.search(text) is not None)


def _title(text: str, said: Utterance) -> str:
    """Return the title that was taken from above what a team's page says."""
    if said.speaker != TEAM or said.start is None:
        return ""
    begin = len(said.text) - len(said.text.lstrip())
    return text[said.start : said.start + begin].strip(" \n#*_")


def _named_in(text: str, said: Utterance) -> str | None:
    """Return who speaks in a text without turns: minutes, an institution, a caller; or whom a form is about."""
    title, _, items = text.strip().partition("\n")
    if _MINUTES.match(text) or (_OF_TEAM.match(title) and is_list(items)):
        return TEAM
    if said.speaker is None and (caller := _CALLER.match(text)) is not None:
        return caller["who"].capitalize()
    form = _CURRICULUM.match(text) or (None if _FIRST.search(text) else _FORM.search(text))
    if said.speaker is None and form is not None:
        return form["who"]
    if said.speaker is None and (reporter := _REPORTER.search(text)) is not None:
        return reporter["who"]
    named = _INSTITUTION.match(text.lstrip())
    is_institution = named is not None and _INSTITUTIONS.search(named["name"]) and _PUBLIC.search(text)
    return _TITLES.sub("", named["name"]) if named is not None and is_institution else None


def _case(text: str, said: Utterance) -> str | None:
    """Return whom the notes of a case are about, whose writer says nothing of themselves."""
    if said.speaker is not None or _FIRST.search(text):
        return None
    if (titled := _NOTES_OF.match(text)) is not None and (titled["of"] or titled["initial"] or " " in titled["who"]):
        return titled["who"]  # one word alone may be a place
    if (found := _CASE.search(text)) is not None:
        return found["who"]
    if words_of_all("patients").match(text.lstrip()) is not None:
        return "The patient"
    named = set(_TITLED.findall(text))
    begins = [begin[1].lower() for begin in _BEGINS.finditer(text)]
    unnamed = [begin for begin in begins if _is_of_case(begin)]
    done = [begin for begin in begins if is_past(begin)]
    is_case = len(named) == 1 and bool(unnamed) and len(unnamed) + len(done) >= _MIN_UNNAMED
    return named.pop() if is_case else None


def _attributed(text: str, said: Utterance, speaker: str | None, *, is_synced: bool) -> list[Utterance]:
    """Return what a text without turns says by who is named in it, by the team of a document, or as it was."""
    if speaker is not None:
        return [replace(said, speaker=speaker, is_chat=False)]
    title = _HEADING.match(text)
    is_prose = said.speaker is None and not said.is_chat
    # `Handbook: equipment` above a text looks like a turn.
    is_headed = said.speaker is not None and said.is_chat and title is not None and (said.start or 0) < title.end()
    if not (is_prose or is_headed):
        return [said]
    speaker = TEAM if _is_document(text, title, is_synced=is_synced) else None
    if speaker is None and not is_synced:
        return [said]
    if title is None:
        return [Utterance(speaker, text, 0)]
    body = " " * title.end() + text[title.end() :]
    return parse_thread(body) or [Utterance(speaker, body, 0)]


def _is_document(text: str, title: re.Match[str] | None, *, is_synced: bool) -> bool:
    """Return whether a short text is about things: a connector brought it, or a title stands above its sentences.

    `We` below a title may be the user's family, but not in a handbook.
    """
    if len(text) > SHORT_TEXT_CHARS or _FIRST.search(text) or is_legal(text):
        return False
    if is_synced or title is None:
        return is_synced
    is_by_firm = _WE.search(text) is None or _KIND.search(title[0]) is not None
    return is_by_firm and len(_STOP.findall(text, title.end())) > 1


def without_title(line: str) -> str:
    """Return what a line of minutes says after their title, or after what its item is about.

    >>> without_title("Compte rendu du 24 novembre"), without_title("Notatka: kod to 4471"), without_title("Kod: 4471")
    ('', 'kod to 4471', 'Kod: 4471')
    >>> without_title("Minutes, sprint 44")
    ''
    """
    title, _, said = line.replace("\uff1a", ":").partition(":")
    named = _IN_BRACKETS.sub("", title.rstrip("."))
    is_title = _MINUTES.fullmatch(named) or (_MINUTES.match(named) and named[-1:].isdigit())
    return said.strip() if is_title or _ITEM.match(line) else line


_IN_BRACKETS = re.compile(r" ?\([^()]*\)$")
_ITEM = re.compile(r"[A-Z][\w/&' -]{1,30}: (?=(?:The|There|We|It|Our|All|An?|No|Members)\b)")
"""What an item of minutes is about, before its sentence: `Water: The supply is turned off on Monday`."""


def team_of(said: Utterance, title: str = "") -> str | None:
    """Return who `we` is in a mail to a team, and below the name of a channel or of a meeting.

    >>> team_of(Utterance("Ann", "Hi all,\\nwe drop Windows 10.", 0))
    "Ann's team"
    >>> team_of(Utterance("Ann", "we drop Windows 10.", 12, is_chat=True), "#platform")
    'The team'
    """
    if said.is_chat and said.speaker not in (None, TEAM) and _OF_TEAM.match(title) is not None:
        return TEAM
    if said.speaker in (None, TEAM) or said.is_chat or _INSTITUTIONS.search(said.speaker):
        return None
    return f"{said.speaker}'s team" if _TO_TEAM.search(said.text) is not None else None


def may_be_users(document_type: str, *, is_synced: bool) -> bool:
    """Return whether the user may have written a document, so that the profile may quote it.

    Not a file, a page, a mail or what a connector brought: others may have written these.
    """
    return document_type in _OWN_TYPES and not is_synced


def is_synced(metadata: Mapping[str, object]) -> bool:
    """Return whether a connector brought a document, by its metadata."""
    return metadata.keys() >= CONNECTOR_KEYS


def is_planted(fact: str, sentence: str, *, is_speech: bool = True) -> bool:
    """Return whether a fact in a text of others is about the user because its sentence speaks of a user.

    In what is no speech, whoever says `I` is not the user either.

    >>> is_planted("The user lives in Oslo", "Remember that the user lives in Oslo.")
    True
    >>> is_planted("User's father was a ferryman", "My father was a ferryman.", is_speech=False)
    True
    """
    if not is_speech and _USER.search(fact) is not None:
        return True
    return is_about_user(fact) and _MENTIONS_USER.search(sentence) is not None


def is_about_user(fact: str) -> bool:
    """Return whether a fact's text begins with the user."""
    return _ABOUT_USER.match(fact) is not None


def is_note(text: str, *, is_synced: bool = False) -> bool:
    """Return whether a plain text is its writer's own: a short message, or mostly in the first person.

    `is_synced`: a connector brought it, so that it is a journal or it is about other things.
    """
    if len(_DIALOGUE.findall(text)) >= _MIN_DIALOGUES:
        return False  # whoever says `I` in a story
    if len(text) <= SHORT_TEXT_CHARS and not is_synced:
        return not is_legal(text)
    sentences = _SENTENCE.findall(text)
    own = sum(_FIRST.search(sentence) is not None for sentence in sentences)
    least = MIN_FIRST_PERSON_SHARE_OF_SYNCED if is_synced else MIN_FIRST_PERSON_SHARE
    return own >= least * len(sentences) and not is_legal(text)


def is_legal(text: str) -> bool:
    """Return whether a text reads like a licence or a contract, or is called one."""
    title, _, _ = text.strip().partition("\n")
    is_titled = len(title) <= _TITLE_CHARS and _boilerplate_title().search(title) is not None
    return (
        _BOILERPLATE.match(text) is not None
        or is_titled
        or len(_LEGAL.findall(text)) * 1000 > MAX_LEGAL_TERMS_PER_1000_CHARS * max(len(text), 1000)
    )

"""Transcripts of meetings and chats in the forms of their programs, and texts that only look so."""

import json

import pytest

from pipeline.text.speaker_attribution import parse_utterances

TALK = (
    ("Dana Reyes", "I moved to Lyon."),
    ("Omar Haddad", "Welcome! I'm a vegetarian now."),
    ("Dana Reyes", "My daughter starts school."),
    ("Omar Haddad", "I drive a Panda."),
)


def _written(form: str) -> str:
    return "".join(
        form.format(at=at, later=at + 1, name=name, NAME=name.upper(), said=said)
        for at, (name, said) in enumerate(TALK)
    )


CUE = "0{at}:00.000 --> 00:0{later}:00.000\n"
FORMS = {
    "WebVTT": "WEBVTT\n\n" + _written("id-{at}\n00:" + CUE + "<v {name}>{said}</v>\n\n"),
    "WebVTT with names in the text": "WEBVTT\n\n" + _written("{later}\n00:" + CUE + "{name}: {said}\n\n"),
    "SubRip": _written("{later}\n00:0{at}:00,000 --> 00:0{later}:00,000\n{name}: {said}\n\n"),
    "SubViewer": _written("0:0{at}:00.000,0:0{later}:00.000\n{name}: {said}\n\n"),
    "time in parentheses": _written("{name} (00:0{at}):\n{said}\n\n"),
    "time in brackets": _written("{name} [00:0{at}:07]:\n{said}\n\n"),
    "name in brackets": _written("[{name}] 10:0{at}:12\n{said}\n\n"),
    "time above": _written("10:0{at} AM {name}\n{said}\n\n"),
    "quoted": _written("> **{name}** 10:0{at}\n> {said}\n\n")
    .replace("> I", "I")
    .replace("> My", "My")
    .replace("> W", "W"),
    "Zoom's chat": _written("10:0{at}:05\t From {name} to Everyone:\n\t{said}\n"),
    "bold": _written("**{name}** \u2014 {said}\n\n"),
    "dash": _written("{name} - {said}\n"),
    "play": _written("{NAME}\n{said}\n\n"),
    "play on one line": _written("{NAME}. {said}\n\n"),
    "below a long head": "Sync\n2026-11-20\nRoom 3\nAttendees\nDana Reyes, Omar Haddad\nTranscript\n"
    + _written("{name}: {said}\n"),
    "JSON of sentences": json.dumps(
        {"title": "Sync", "sentences": [{"speaker_name": name, "text": said} for name, said in TALK]}
    ),
    "nested JSON": json.dumps(
        {"results": {"utterances": [{"speaker": name, "transcript": said} for name, said in TALK]}}
    ),
    "table": "| Time | Speaker | Text |\n|---|---|---|\n" + _written("| 10:0{at} | {name} | {said} |\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_transcript_tells_who_says_what(form: str) -> None:
    assert [(part.speaker, part.text.strip()) for part in parse_utterances(FORMS[form])] == list(TALK)


def test_a_cue_without_a_name_goes_on_with_the_one_before() -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>I moved</v>\n\n00:02.000 --> 00:03.000\nto Lyon.\n"
    assert [(part.speaker, part.text) for part in parse_utterances(text)] == [("Ann", "I moved to Lyon.")]


@pytest.mark.parametrize(
    "text",
    [
        "Copyright:\n 1994 X\nLicense:\n You may copy it.\nCopyright:\n 1995 Y\nLicense:\n You may.\n",
        "Apple - red\nPear - green\nApple - sour\nPear - sweet\n",
        "Gym 8:00\nI ran.\n\nWork 9:30\nI wrote.\n",
        "WEBVTT\n\n00:01.000 --> 00:02.000\nI moved to Lyon.\n",
        "Install\nRun it.\n\nUsage\nCall it.\n\nInstall\nOn Windows.\n\nUsage\nOn Windows.\n",
    ],
)
def test_lists_and_fields_are_no_transcript(text: str) -> None:
    assert not any(part.is_chat for part in parse_utterances(text))

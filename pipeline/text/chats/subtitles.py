"""Subtitles with names, as meetings are transcribed: WebVTT, SubRip and SubViewer."""

import re

from pipeline.text.chats.message import Message

_CUE = re.compile(
    r"^(?:[^\n]{1,80}\n)?\d?\d:\d\d(?::\d\d)?[.,]\d{3}(?:[ \t]*-->[ \t]*|,)\d?\d:\d\d[^\n]*\n(?P<said>.+(?:\n.+)*)",
    re.MULTILINE,
)
"""Number or name of a cue, its times, and its lines up to a blank one."""
_VOICE = re.compile(r"<v(?:\.[\w.]+)?[ \t]+(?P<name>[^<>\n]{1,60})>")
_NAME = re.compile(
    r"(?:[-\u2022>]+[ \t]*)?(?P<name>[^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,3}(?: \d{1,3})?):[ \t]+"
)
_TAG = re.compile(r"</?[a-z][^<>]*>")


def subtitle_messages(text: str) -> list[Message]:
    """Return what each speaker says in order; none where no cue names one, or for any other text.

    >>> cue = "00:0{0}.000 --> 00:0{1}.000\\n{2}\\n\\n"
    >>> text = "WEBVTT\\n\\n" + cue.format(1, 2, "<v Ann>I moved</v>") + cue.format(2, 3, "to Lyon.")
    >>> [message[:2] for message in subtitle_messages(text)]
    [('Ann', 'I moved to Lyon.')]
    """
    found: list[Message] = []
    for cue in _CUE.finditer(text):
        said = cue["said"]
        label = _VOICE.match(said) or _NAME.match(said)
        words = " ".join(_TAG.sub("", said[label.end() if label else 0 :]).split())
        if label is None and not found:
            continue
        who = label["name"].strip() if label else found[-1].who
        if found and found[-1].who == who:
            found[-1] = found[-1]._replace(said=f"{found[-1].said} {words}".strip(), start=None)
        else:
            start = text.find(words, cue.start("said"), cue.end())
            found.append(Message(who, words, start if start >= 0 else None))
    return [message for message in found if message.said]

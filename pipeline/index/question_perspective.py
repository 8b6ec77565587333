"""Questions that an application or an agent asks about the user: "What is the user's job?", "Where does she live?".

A user's memories and messages say "I", so such a question means there what the user asks by "What is my job?".
"""

import re
from functools import cache

from pipeline.index.asker_name import AskedByName, own_word
from pipeline.text.analyzer import words
from pipeline.text.statement_words import capitalized_names, names_asker
from pipeline.text.word_lists import list_pattern, read_list

_BEFORE_NOUN = r"^user(?= \w)"
"""In keywords: `user phone number`."""
_OWNER_ENDING = re.compile("['\u2019]s\\b")


def asked_about_user(question: str, *, reads_pronouns: bool) -> AskedByName | None:
    """Return a question about the user as they would ask it themselves; None where it names no user.

    `reads_pronouns`: take *she* and *his* for the user where the question has no name that they could stand for.

    >>> asked_about_user("What is the user's favorite food?", reads_pronouns=False).text
    'What is my favorite food?'
    >>> asked_about_user("Where does she live?", reads_pronouns=True).text
    'Where does I live?'
    >>> asked_about_user("Where does she live?", reads_pronouns=False)
    """
    stands_for_user = reads_pronouns and not names_asker(question) and not capitalized_names(question)
    for name in ("user", "third_person")[: 1 + stands_for_user]:
        replaced = [found.group() for found in _pattern(name).finditer(question)]
        if replaced:
            asked = _pattern(name).sub(_in_first_person, question)
            return AskedByName(asked, tuple(words(_OWNER_ENDING.sub("", " ".join(replaced)))))
    return None


def _in_first_person(found: re.Match[str]) -> str:
    return own_word(found.group(), is_owner=found["owner"] is not None)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    subjects, owners = (list_pattern(part.split(), as_written=True) for part in read_list(name).split("\n\n"))
    return re.compile(f"(?P<owner>{_BEFORE_NOUN}|{owners})|{subjects}", re.IGNORECASE)

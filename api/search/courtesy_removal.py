"""Removal of polite phrases around a query: part of `rewriteQuery` that needs no language model."""

import re

from pipeline.text.analyzer import term_hashes, words
from pipeline.text.english_verbs import word_set

# Keep the object of the question; words of asking and of politeness do not help to find the answer.
_COURTESY_PREFIX = re.compile(
    r"""^\s*(?:
        (?:hi|hey|hello|ok|okay|so|well|please|now)\b[\s,!.:-]*
      | (?:sorry|excuse\s+me|pardon)\b[^,.!?:;]*,\s*(?:but\s+)? | (?:but|and)\s+
      | i\s+(?:can(?:'t|not)|don't|do\s+not)\s+(?:remember|recall|know)\b[\s,:]*(?:if\s+|whether\s+)?
      | (?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+)?(?=\w)
      | (?:please\s+|kindly\s+)?(?:tell|remind|show|give)\s+me[\s,:]+(?:again\s+)?
        (?:(?:everything|all|something)\s+)?(?:you\s+know\s+)?(?:about\s+|of\s+|if\s+|whether\s+)?
      | do\s+you\s+(?:happen\s+to\s+)?(?:know|remember|recall)[\s,:]+(?:if\s+|whether\s+|about\s+|of\s+)?
      | (?:i(?:'d|\s+would)\s+(?:like|love)|i\s+want|i\s+need)\s+(?:to\s+(?:know|find\s+out|see|learn)\s+)
        (?:about\s+)?
      | i(?:'m|\s+am)\s+(?:wondering|looking\s+for|trying\s+to\s+(?:find|remember))\s+
        (?:if\s+|whether\s+|out\s+)?
      | what\s+(?:do|can)\s+you\s+(?:know|remember|recall|tell\s+me)\s+(?:about|of)\s+
      | (?:search|look)\s+(?:for|up)\s+ | find\s+(?:me\s+)?(?:everything\s+about\s+)?
      | (?:is|was)\s+there\s+(?:anything|something)\s+(?:about|on)\s+
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_COURTESY_SUFFIX = re.compile(r"\s(?:please|thanks|thank\s+you|do\s+you\s+know)$", re.IGNORECASE)
_COURTESY_WORDS = word_set(
    """
    advance afternoon answer appreciate appreciated ask asking assist assistance bother briefly bye
    care cheers curious day dear evening excuse favor favour forgot friend good greetings hello help
    helping hey hi idea ideas kind kindly know let lot lots madam moment morning much need pardon
    please pls problem question quick quickly recall regards remember sir small something sorry sure
    tell thank thanks thx time ty want wonder wondering
    """
)
_QUESTION_WORDS = frozenset(["what", "when", "where", "which", "who", "whom", "whose", "why", "how"])
_CLAUSE = re.compile(r"[^,.!?:;]*[,.!?:;]*\s*")
_PUNCTUATION = " \t\r\n?!.,;:"
_MAX_PREFIXES = 5
_MAX_QUERY_CHARS = 500


def remove_courtesies(query: str) -> str:
    """Remove polite phrases; return the query unchanged when it is long or nothing would be left.

    >>> remove_courtesies("Hey, can you please tell me where Anna lives now? Thank you!")
    'where Anna lives now'
    """
    if len(query) > _MAX_QUERY_CHARS:
        return query
    pieces = [piece for piece in _CLAUSE.findall(query) if piece]
    while len(pieces) > 1 and _is_courtesy(pieces[0]):
        del pieces[0]
    while len(pieces) > 1 and _is_courtesy(pieces[-1]):
        del pieces[-1]
    bare = _COURTESY_SUFFIX.sub("", "".join(pieces).rstrip(_PUNCTUATION)).rstrip(_PUNCTUATION)
    for _ in range(_MAX_PREFIXES):
        shorter = _COURTESY_PREFIX.sub("", bare, count=1)
        if shorter == bare:
            break
        bare = shorter
    return bare.strip() or query


def _is_courtesy(clause: str) -> bool:
    """Tell whether a clause consists of polite words only."""
    clause_words = words(clause)
    return not _COURTESY_WORDS.isdisjoint(clause_words) and all(
        word in _COURTESY_WORDS or (word not in _QUESTION_WORDS and not term_hashes(word)) for word in clause_words
    )

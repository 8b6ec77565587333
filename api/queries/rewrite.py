"""A question without what people wrap around it: `rewriteQuery`, without a language model."""

import re

# What is asked for stays; that somebody asks, and how politely, says nothing about where the answer is.
_WRAPPINGS = re.compile(
    r"""^\s*(?:
        (?:hi|hey|hello|ok|okay|so|well|please|now)\b[\s,!.:-]*
      | (?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+)?(?=\w)
      | (?:please\s+|kindly\s+)?(?:tell|remind|show|give)\s+me\s+(?:again\s+)?
        (?:(?:everything|all|something)\s+)?(?:you\s+know\s+)?(?:about\s+|of\s+|if\s+|whether\s+)?
      | do\s+you\s+(?:know|remember|recall|happen\s+to\s+know)\s+(?:if\s+|whether\s+|about\s+|of\s+)?
      | (?:i(?:'d|\s+would)\s+like|i\s+want|i\s+need)\s+(?:to\s+(?:know|find\s+out|see|learn)\s+)(?:about\s+)?
      | i(?:'m|\s+am)\s+(?:wondering|looking\s+for|trying\s+to\s+(?:find|remember))\s+
        (?:if\s+|whether\s+|out\s+)?
      | what\s+(?:do|can)\s+you\s+(?:know|remember|recall|tell\s+me)\s+(?:about|of)\s+
      | (?:search|look)\s+(?:for|up)\s+ | find\s+(?:me\s+)?(?:everything\s+about\s+)?
      | (?:is|was)\s+there\s+(?:anything|something)\s+(?:about|on)\s+
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_ENDINGS = re.compile(r"(?:^|[\s,])(?:please|thanks|thank\s+you|again|do\s+you\s+know)$", re.IGNORECASE)
_MARKS = " \t\r\n?!.,;"
_ROUNDS = 5
_LONGEST = 500


def rewritten(query: str) -> str:
    """The query without its wrappings; as it was when nothing would be left, or when it is no short question.

    >>> rewritten("Hey, can you please tell me where Anna lives now, please?")
    'where Anna lives now'
    """
    if len(query) > _LONGEST:
        return query
    bare = _ENDINGS.sub("", query.rstrip(_MARKS)).rstrip(_MARKS)
    for _ in range(_ROUNDS):
        shorter = _WRAPPINGS.sub("", bare, count=1)
        if shorter == bare:
            break
        bare = shorter
    return bare.strip() or query

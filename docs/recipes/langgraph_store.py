"""A store of LangGraph in recollect: `graph.compile(store=RecollectStore())` hands it to every node.

pip install langgraph supermemory==5.0.1
python langgraph_store.py alice "My sister lives in Oslo."
python langgraph_store.py alice "Where does my sister live?"
"""

import asyncio
import json
import sys
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchItem, SearchOp
from supermemory import NotFoundError, Supermemory
from supermemory.types import Document


class RecollectStore(BaseStore):
    """A namespace of LangGraph is one of recollect, its parts joined by colons; an item is a document of JSON."""

    def __init__(self) -> None:
        self.memory = Supermemory()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        match op:
            case GetOp():
                document = self._document(op.namespace, op.key)
                return None if document is None else Item(**_fields(op.namespace, document))
            case PutOp(value=None):
                self.memory.documents.delete(":".join(op.namespace), ids=[op.key])
                return None
            case PutOp():
                return self._put(":".join(op.namespace), op.key, op.value)
            case SearchOp():
                return list(self._search(op))
            case _:
                raise NotImplementedError("recollect lists namespaces: memory.namespaces.list()")

    def _put(self, namespace: str, key: str, value: dict[str, Any]) -> None:
        stored: dict[str, Any] = {
            "content": json.dumps(value, ensure_ascii=False),
            "metadata": {name: part for name, part in value.items() if isinstance(part, str | int | float | bool)},
        }
        self.memory.documents.delete(namespace, ids=[key])  # a second `add` would append
        self.memory.add(namespace, id=key, **stored)

    def _search(self, op: SearchOp) -> Iterable[SearchItem]:
        namespace = ":".join(op.namespace_prefix)
        equal = [{"field": name, "operator": "eq", "value": value} for name, value in (op.filter or {}).items()]
        chosen: dict[str, Any] = {"filter": {"operator": "and", "operands": equal}} if equal else {}
        if op.query:
            found = self.memory.search(
                namespace, query=op.query, limit=op.limit, search_mode="chunks", include={"documents": True}, **chosen
            )
            scores = {result.included.document.id: result.similarity for result in reversed(found.results)}
        else:
            page = self.memory.list(namespace, "documents", limit=op.limit, page=op.offset // op.limit + 1, **chosen)
            scores = dict.fromkeys(document.id for document in page.documents)
        for key, score in scores.items():
            document = self._document(op.namespace_prefix, key)
            if document is not None:
                yield SearchItem(**_fields(op.namespace_prefix, document), score=score)

    def _document(self, namespace: tuple[str, ...], key: str) -> Document | None:
        try:
            return self.memory.documents.get(":".join(namespace), key)
        except NotFoundError:
            return None


def _fields(namespace: tuple[str, ...], document: Document) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "key": document.id,
        "value": json.loads(document.content or "{}"),
        "created_at": document.system.created_at,
        "updated_at": document.system.updated_at,
    }


who, said = sys.argv[1:]
store = RecollectStore()
for item in store.search(("notes", who), query=said, limit=3):
    print(item.value["text"])
store.put(("notes", who), uuid4().hex, {"text": said})

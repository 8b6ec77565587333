"""Memory as a retriever of LlamaIndex, for query engines and agents.

pip install llama-index-core supermemory==5.0.1
python llamaindex_retriever.py alice "Where does she live?"
"""

import sys

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from supermemory import Supermemory


class Memory(BaseRetriever):
    """What a namespace knows of a question, best first."""

    def __init__(self, namespace: str, limit: int = 5) -> None:
        self._namespace = namespace
        self._limit = limit
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        results = Supermemory().search(self._namespace, query=query_bundle.query_str, limit=self._limit).results
        return [
            NodeWithScore(
                node=TextNode(id_=result.id, text=result.memory or result.chunk or ""),
                score=result.similarity,
            )
            for result in results
        ]


who, question = sys.argv[1:]
for node in Memory(who).retrieve(question):
    print(node.text)

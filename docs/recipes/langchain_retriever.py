"""Memory as a retriever of LangChain, to be put into any chain.

pip install langchain-core supermemory==5.0.1
python langchain_retriever.py alice "Where does she live?"
"""

import sys

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from supermemory import Supermemory


class Memory(BaseRetriever):
    """What a namespace knows of a question, best first."""

    namespace: str
    limit: int = 5

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        results = Supermemory().search(self.namespace, query=query, limit=self.limit).results
        return [
            Document(
                page_content=result.memory or result.chunk or "",
                metadata={"id": result.id, "similarity": result.similarity},
            )
            for result in results
        ]


who, question = sys.argv[1:]
chain = Memory(namespace=who) | RunnableLambda(lambda found: "\n".join(document.page_content for document in found))
print(chain.invoke(question))

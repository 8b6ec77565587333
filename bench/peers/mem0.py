"""mem0 with its default store, without its language model (`infer=False`), and with the vectors given."""

import json
import os
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

# This file has the name of the package.
sys.path.pop(0)
os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "unused"}  # pragma: allowlist secret
from mem0 import Memory


class Known:
    """The vectors that were made before, in the place of its embedder."""

    def __init__(self, vectors: dict[str, list[float]], config: Any) -> None:
        self.known = {text.strip(): vector for text, vector in vectors.items()}
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - its interface
        """The vector of a text, which comes without white space around it."""
        return self.known[text.strip()]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """The vectors of several."""
        return [self.embed(text, memory_action) for text in texts]


given = json.loads(Path(sys.argv[1]).read_text())
corpora = []
with tempfile.TemporaryDirectory() as folder:
    os.environ["MEM0_DIR"] = folder
    for number, corpus in enumerate(given):
        store = {"path": f"{folder}/{number}", "embedding_model_dims": len(corpus["vectors"][0])}
        memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {"collection_name": "passages", **store}},
                "history_db_path": f"{folder}/{number}.db",
            }
        )
        vectors = dict(zip(corpus["texts"], corpus["vectors"], strict=True))
        vectors |= dict(zip(corpus["queries"], corpus["query_vectors"], strict=True))
        memory.embedding_model = Known(vectors, memory.embedding_model.config)
        places = {text.strip(): at for at, text in enumerate(corpus["texts"])}
        for text in corpus["texts"]:
            memory.add(text, user_id="one", infer=False)
        orders, taken = [], []
        for query in corpus["queries"]:
            began = time.process_time()
            found = memory.search(query, filters={"user_id": "one"}, top_k=corpus["limit"], threshold=0.0)
            taken.append(1000 * (time.process_time() - began))
            orders.append([places[result["memory"].strip()] for result in found["results"]])
        corpora.append({"orders": orders, "milliseconds": taken})
Path(sys.argv[2]).write_text(json.dumps({"version": version("mem0ai"), "corpora": corpora}))

"""txtai: hybrid (its BM25 and vectors), with the vectors given."""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

# This file has the name of the package.
sys.path.pop(0)
from txtai import Embeddings

given = json.loads(Path(sys.argv[1]).read_text())
corpora = []
for corpus in given:
    vector_by_text = dict(zip(corpus["texts"], corpus["vectors"], strict=True))
    vector_by_text |= dict(zip(corpus["queries"], corpus["query_vectors"], strict=True))

    def vectors(texts: list[str], vector_by_text: dict[str, list[float]] = vector_by_text) -> np.ndarray:
        """Return the index built before."""
        return np.array([vector_by_text[text] for text in texts], np.float32)

    embeddings = Embeddings(method="external", transform=vectors, hybrid=True)
    embeddings.index((at, text, None) for at, text in enumerate(corpus["texts"]))
    orders, taken = [], []
    for query in corpus["queries"]:
        began = time.process_time()
        found = embeddings.search(query, corpus["limit"])
        taken.append(1000 * (time.process_time() - began))
        orders.append([int(at) for at, _ in found])
    corpora.append({"orders": orders, "milliseconds": taken})
Path(sys.argv[2]).write_text(json.dumps({"version": version("txtai"), "corpora": corpora}))

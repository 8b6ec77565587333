"""Chroma: a collection of vectors."""

import json
import sys
import time
from pathlib import Path

import chromadb

given = json.loads(Path(sys.argv[1]).read_text())
client = chromadb.EphemeralClient()
corpora = []
for number, corpus in enumerate(given):
    collection = client.create_collection(f"passages{number}", metadata={"hnsw:space": "cosine"})
    ids = [str(at) for at in range(len(corpus["texts"]))]
    for start in range(0, len(ids), 1_000):
        part = slice(start, start + 1_000)
        collection.add(ids=ids[part], embeddings=corpus["vectors"][part], documents=corpus["texts"][part])
    orders, taken = [], []
    for vector in corpus["query_vectors"]:
        began = time.process_time()
        found = collection.query(query_embeddings=[vector], n_results=min(corpus["limit"], len(ids)))
        taken.append(1000 * (time.process_time() - began))
        orders.append([int(id_) for id_ in found["ids"][0]])
    corpora.append({"orders": orders, "milliseconds": taken})
Path(sys.argv[2]).write_text(json.dumps({"version": chromadb.__version__, "corpora": corpora}))

"""Qdrant's local engine: the client's own, in memory."""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams

given = json.loads(Path(sys.argv[1]).read_text())
client = QdrantClient(":memory:")
corpora = []
for number, corpus in enumerate(given):
    name = f"passages{number}"
    size = len(corpus["vectors"][0])
    client.create_collection(name, vectors_config=VectorParams(size=size, distance=Distance.COSINE))
    points = [
        PointStruct(id=at, vector=vector, payload={"text": text})
        for at, (vector, text) in enumerate(zip(corpus["vectors"], corpus["texts"], strict=True))
    ]
    client.upsert(name, points)
    orders, taken = [], []
    for vector in corpus["query_vectors"]:
        began = time.process_time()
        found = client.query_points(name, query=vector, limit=corpus["limit"]).points
        taken.append(1000 * (time.process_time() - began))
        orders.append([int(point.id) for point in found])
    corpora.append({"orders": orders, "milliseconds": taken})
Path(sys.argv[2]).write_text(json.dumps({"version": version("qdrant-client"), "corpora": corpora}))

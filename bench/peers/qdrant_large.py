"""Qdrant's local engine on a matrix: the ten nearest rows of each question, and how long it took.

Arguments: the rows and the questions as .npy, and where the answer goes.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams

BATCH = 10_000
FOUND = 10

vectors, questions = (np.load(path, mmap_mode="r") for path in sys.argv[1:3])
client = QdrantClient(":memory:")
client.create_collection("rows", vectors_config=VectorParams(size=vectors.shape[1], distance=Distance.COSINE))
for start in range(0, len(vectors), BATCH):
    batch = vectors[start : start + BATCH].tolist()
    client.upsert("rows", [PointStruct(id=start + at, vector=vector) for at, vector in enumerate(batch)])
taken = []
for question in questions:
    began = time.process_time()
    client.query_points("rows", query=question, limit=FOUND)
    taken.append(1000 * (time.process_time() - began))
Path(sys.argv[3]).write_text(json.dumps({"version": version("qdrant-client"), "milliseconds": taken}))

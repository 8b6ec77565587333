"""LanceDB's own hybrid query, reranked as it does by default (RRF)."""

import json
import sys
import tempfile
import time
from pathlib import Path

# This file has the name of the package.
sys.path.pop(0)
import lancedb

given = json.loads(Path(sys.argv[1]).read_text())
corpora = []
with tempfile.TemporaryDirectory() as folder:
    database = lancedb.connect(folder)
    for number, corpus in enumerate(given):
        rows = [
            {"at": at, "text": text, "vector": vector}
            for at, (text, vector) in enumerate(zip(corpus["texts"], corpus["vectors"], strict=True))
        ]
        table = database.create_table(f"passages{number}", rows)
        table.create_fts_index("text")
        orders, taken = [], []
        for query, vector in zip(corpus["queries"], corpus["query_vectors"], strict=True):
            began = time.process_time()
            asked = table.search(query_type="hybrid").vector(vector).text(query.replace('"', " "))
            found = asked.limit(corpus["limit"]).to_list()
            taken.append(1000 * (time.process_time() - began))
            orders.append([int(row["at"]) for row in found])
        corpora.append({"orders": orders, "milliseconds": taken})
Path(sys.argv[2]).write_text(json.dumps({"version": lancedb.__version__, "corpora": corpora}))

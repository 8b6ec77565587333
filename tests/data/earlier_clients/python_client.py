"""Uses the last Python client that speaks v3 and v4: `python_client.py URL KEY`. Prints one JSON object."""

import json
import sys
import time

from supermemory import NotFoundError, Supermemory

url, key = sys.argv[1:]
client = Supermemory(api_key=key, base_url=url, max_retries=0)
TAG = "python-client"

added = client.add(
    content="Ada keeps bees in Bergen.",
    container_tag=TAG,
    custom_id="python-bees",
    metadata={"year": 2024},
    dreaming="instant",
)
batch = client.documents.batch_add(
    documents=[{"content": "One about rivers."}, {"content": " "}, {"content": "Lakes.", "customId": "lakes"}],
    container_tag=TAG,
)
uploaded = client.documents.upload_file(file=("w.md", b"# Whales\nThey sing.", "text/markdown"), container_tag=TAG)
deadline = time.monotonic() + 60
while client.documents.get(added.id).status != "done" and time.monotonic() < deadline:
    time.sleep(0.05)
while client.documents.list_processing().documents and time.monotonic() < deadline:
    time.sleep(0.05)
found = client.search.execute(q="Who keeps bees?", container_tags=[TAG], include_full_docs=True)
hybrid = client.search.memories(q="Who keeps bees?", container_tag=TAG, search_mode="hybrid")
listed = client.documents.list(container_tags=[TAG], filters={"AND": [{"key": "year", "value": "2024"}]})
client.documents.update("python-bees", metadata={"seen": "yes"})
read = client.documents.get("python-bees")
profile = client.profile(container_tag=TAG, q="Who keeps bees?")
settings = client.settings.get()
connections = client.connections.list()
client.documents.delete("lakes")
try:
    client.documents.get("lakes")
    deleted = False
except NotFoundError:
    deleted = True
bulk = client.documents.delete_bulk(ids=[uploaded.id, "unknown"])
sys.stdout.write(
    json.dumps(
        {
            "same_id": read.id == added.id,
            "content": read.content,
            "metadata": read.metadata,
            "batch": [batch.success, batch.failed],
            "found": [found.results[0].document_id == added.id, found.results[0].content],
            "hybrid": (hybrid.results[0].chunk or hybrid.results[0].memory).rstrip("."),
            "listed": [memory.custom_id for memory in listed.memories],
            "profile_search": len(profile.search_results.results) > 0,
            "settings": settings.filter_prompt,
            "connections": len(connections),
            "deleted": deleted,
            "bulk": [bulk.deleted_count, [error.id for error in bulk.errors or []]],
        }
    )
)

"""Pages of found memories: taken from the sentences in their documents, as an index holds no offsets of memories."""

from api.presenters.resource_presenter import memory_page
from api.search.search_query import NamespaceSearch, SearchOutcome
from pipeline.ports import DocumentTable, MemoryTable
from pipeline.rows import NamespaceRow
from pipeline.text.page_breaks import PAGED_TYPES
from schemas.http.v5.search_bodies import SearchBody


async def search_with_pages(
    search: NamespaceSearch,
    memory_table: MemoryTable,
    document_table: DocumentTable,
    namespace: NamespaceRow,
    body: SearchBody,
    *,
    explain: bool = False,
    documents: tuple[str, ...] | None = None,
) -> SearchOutcome:
    """Implement `NamespaceSearch`: memories of PDFs and slides name the page of the document they are shown with."""
    outcome = await search(namespace, body, explain=explain, documents=documents)
    paged = [
        (hit, result)
        for hit, result in zip(outcome.hits, outcome.results, strict=True)
        if hit.kind == "memory" and hit.document.type in PAGED_TYPES
    ]
    if not paged:
        return outcome
    rows = {id_: found[0] for id_, found in (await memory_table.get([hit.id for hit, _ in paged])).items() if found}
    sources = await document_table.get({key for row in rows.values() for key in row.sources})
    for hit, result in paged:
        for key in rows[hit.id].sources if hit.id in rows else ():
            for source in sources.get(key, ()):
                if source.id == hit.document.id:
                    result.metadata = {**memory_page(rows[hit.id], source), **result.metadata}
    return outcome

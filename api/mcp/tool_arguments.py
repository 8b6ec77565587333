"""Arguments of the tools and of the prompt. The descriptions are written for language models."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import RequestBody
from schemas.http import field_types as fields
from schemas.limits import MAX_FORGET_QUERY_LENGTH, MAX_PAGE_SIZE, MAX_SAFE_INTEGER

MAX_FORGET_IDS_PER_CALL = 50
DEFAULT_TEXT_CHARS = 20_000
"""Default length of a document's text in one result, in characters."""

Namespace = Annotated[
    fields.NamespaceName,
    Field(
        description="Whose memory: usually a user, a team or a project, for example `alice`. Leave it out"
        " if the user has only one; list_namespaces shows what there is."
    ),
]
PageNumber = Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER, description="Pages count from 1.")]


class SearchArguments(RequestBody):
    query: Annotated[
        fields.Text,
        Field(
            min_length=1,
            description="What you want to know, as a full question or a few telling words, in the language"
            " of the texts: `Which database did we choose for billing, and why?`",
        ),
    ]
    namespace: fields.Omittable[Namespace] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE, description="How many results, at most.")] = 8
    mode: Annotated[
        Literal["hybrid", "memories", "chunks"],
        Field(
            description="hybrid: facts and passages of documents; memories: only facts, short and current;"
            " chunks: only passages, with the original wording."
        ),
    ] = "hybrid"
    filter: fields.Omittable[
        Annotated[
            dict[str, Any],
            Field(
                description='Only results from documents whose metadata passes. One condition {"operator":'
                ' "eq", "field": "project", "value": "apollo"} (also neq, gt, gte, lt, lte with numbers,'
                ' contains, arrayContains), or several joined: {"operator": "and", "operands": [ … ]} (or'
                ' "or").'
            ),
        ]
    ] = None


class AddArguments(RequestBody):
    content: Annotated[
        fields.Text,
        Field(
            min_length=1,
            description="The text to remember, or an http(s) URL whose page is to be remembered. Write"
            " sentences that will still be understood alone in a year: names instead of pronouns, dates"
            " instead of `tomorrow`.",
        ),
    ]
    namespace: fields.Omittable[Namespace] = None
    id: fields.Omittable[
        Annotated[
            fields.NewDocumentId,
            Field(
                description="An id of your own, to add to the same document again later:"
                " `meeting-2026-03-02`. Text that is added under a known id is appended to it."
            ),
        ]
    ] = None
    date: fields.Omittable[
        Annotated[
            fields.Text,
            Field(description="When it was said or written, in ISO 8601, if that was not now: `2026-03-02`."),
        ]
    ] = None
    metadata: fields.Omittable[
        Annotated[
            fields.MetadataBody,
            Field(
                description="What to filter by later: strings, numbers, booleans or lists of strings, for"
                ' example {"project": "apollo"}.'
            ),
        ]
    ] = None
    context: fields.Omittable[
        Annotated[
            fields.SupportingContext,
            Field(description="What a reader must know to understand the text; it is not remembered itself."),
        ]
    ] = None


class ForgetArguments(RequestBody):
    namespace: fields.Omittable[Namespace] = None
    query: fields.Omittable[
        Annotated[
            fields.Text,
            Field(
                min_length=1,
                max_length=MAX_FORGET_QUERY_LENGTH,
                description="What the memories to forget are about. Only shows those that fit, with their"
                " ids: nothing is forgotten by a description.",
            ),
        ]
    ] = None
    ids: fields.Omittable[
        Annotated[
            list[fields.ResourceId],
            Field(
                min_length=1,
                max_length=MAX_FORGET_IDS_PER_CALL,
                description="Ids of memories, as an earlier call with `query`, or search_memory, showed them.",
            ),
        ]
    ] = None
    dry_run: Annotated[
        bool,
        Field(
            description="true: only show what would be forgotten. false, with `ids`: forget these now. Ask"
            " the user before you send false."
        ),
    ] = True

    redact: Annotated[
        bool,
        Field(
            description="true, with `ids`: also take the sentences that say it out of the documents, for ever."
            " With `dryRun` true it shows these sentences: let the user see them first."
        ),
    ] = False

    @model_validator(mode="after")
    def _require_preview(self) -> "ForgetArguments":
        if (self.query is None) == (self.ids is None):
            raise ValueError("give either query, to see what would be forgotten, or ids")
        if self.ids is None and not self.dry_run:
            raise ValueError(
                "to forget, give the ids that a call with this query and dryRun true shows: "
                "nothing is forgotten that was not shown before"
            )
        if self.ids is None and self.redact:
            raise ValueError("redact takes ids: call with query alone to list the memories, then pass their ids")
        return self


class ProfileArguments(RequestBody):
    namespace: fields.Omittable[Namespace] = None


class ListDocumentsArguments(RequestBody):
    namespace: fields.Omittable[Namespace] = None
    page: PageNumber = 1
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE, description="Documents of a page.")] = 20


class GetDocumentArguments(RequestBody):
    id: Annotated[
        fields.DocumentId, Field(description="The document's id, as search_memory and list_documents show it.")
    ]
    namespace: fields.Omittable[Namespace] = None
    offset: Annotated[
        int, Field(ge=0, le=MAX_SAFE_INTEGER, description="The first character of the text to show; from 0.")
    ] = 0
    length: Annotated[int, Field(ge=1, le=200_000, description="How many characters of the text to show, at most.")] = (
        DEFAULT_TEXT_CHARS
    )


class ListNamespacesArguments(RequestBody):
    name_contains: fields.Omittable[
        Annotated[fields.Text, Field(max_length=100, description="Only names with this in them.")]
    ] = None
    page: PageNumber = 1


class WhoAmIArguments(RequestBody):
    """No arguments."""


class ContextArguments(RequestBody):
    namespace: fields.Omittable[Namespace] = None
    about: fields.Omittable[
        Annotated[fields.Text, Field(min_length=1, description="What the conversation will be about; may be left out.")]
    ] = None

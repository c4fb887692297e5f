"""Annif's REST interface, so that clients of Annif work with this service; a project is a served model.

Requests and responses are described in ``annif/openapi/annif.yaml`` of https://github.com/NatLibFi/Annif.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Body, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tacit._version import __version__
from tacit.data.vocabulary import Vocabulary
from tacit.server.problems import Problem
from tacit.server.request_limits import MAX_K
from tacit.server.routes import PROBLEMS, ModelPath, check_language, check_size, served_model
from tacit.server.schemas import Items, LabelName, Text
from tacit.server.served_models import Served
from tacit.tagger.suggest import DECIMALS, Wish
from tacit.tagger.tagger import Tagger
from tacit.text.words import LANGUAGES

FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 100  # of a form; Annif's clients may add metadata
_MAX_DOCUMENTS = 32

Limit = Annotated[int, Field(ge=0, le=2**31 - 1, description="Suggestions per text; there are 1,000 at most.")]
Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="Omit suggestions with a lower score.")]
Language = Annotated[
    str | None, Field(max_length=40, description="Of labels; ignored if the vocabulary does not tell languages apart.")
]


class SuggestForm(BaseModel):
    """A text, and which suggestions are wanted."""

    text: Text
    limit: Limit = 10
    threshold: Threshold = 0.0
    language: Language = None


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)  # unknown fields are ignored, as Annif does


class Document(_Body):
    """A text with an optional identifier."""

    text: Text
    document_id: Text | None = None


class DocumentBatch(_Body):
    """Several texts."""

    documents: list[Document] = Field(max_length=_MAX_DOCUMENTS, fail_fast=True)


class Subject(_Body):
    """A label, given by its URI or any of its names."""

    uri: LabelName


class IndexedDocument(_Body):
    """A text and its known correct labels."""

    text: Text
    subjects: Items[Subject] = []


# -- endpoints --------------------------------------------------------------------------------------------

annif = APIRouter(prefix="/v1", tags=["annif"], responses=PROBLEMS)


async def _form(request: Request) -> SuggestForm:
    """The body of a request as a form."""
    try:
        body = (await request.body()).decode()
        fields = dict(parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise Problem(400, f"the request body is not a form in UTF-8 with at most {_MAX_FIELDS} fields") from None
    try:
        return SuggestForm.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


@annif.get("/")
async def info() -> dict[str, str]:
    """Name and version of the software."""
    return {"title": "tacit", "version": __version__}


@annif.get("/projects")
async def projects(request: Request) -> dict[str, list[dict[str, Any]]]:
    """List the projects."""
    return {"projects": [_project(served) for served in request.app.state.models.values()]}


@annif.get("/projects/{project_id}")
async def project(request: Request, project_id: ModelPath) -> dict[str, Any]:
    """Describe a project."""
    return _project(served_model(request, project_id))


@annif.post(
    "/projects/{project_id}/suggest",
    openapi_extra={"requestBody": {"required": True, "content": {FORM: {"schema": SuggestForm.model_json_schema()}}}},
)
async def suggest(
    request: Request, project_id: ModelPath, form: Annotated[SuggestForm, Depends(_form)]
) -> dict[str, Any]:
    """Suggest labels for a text."""
    served = served_model(request, project_id)
    (subjects,) = await _suggest(served, [form.text], form.limit, form.threshold, form.language)
    return {"results": subjects}


@annif.post("/projects/{project_id}/suggest-batch")
async def suggest_batch(
    request: Request,
    project_id: ModelPath,
    batch: DocumentBatch,
    limit: Limit = 10,
    threshold: Threshold = 0.0,
    language: Language = None,
) -> list[dict[str, Any]]:
    """Suggest labels for several texts."""
    served = served_model(request, project_id)
    texts = [document.text for document in batch.documents]
    found = await _suggest(served, texts, limit, threshold, language)
    return [
        {"document_id": document.document_id, "results": subjects}
        for document, subjects in zip(batch.documents, found, strict=True)
    ]


@annif.post("/projects/{project_id}/learn", status_code=204, response_class=Response)
async def learn(request: Request, project_id: ModelPath, documents: Annotated[Items[IndexedDocument], Body()]) -> None:
    """Learn from texts with known labels, as from accepted suggestions."""
    served = served_model(request, project_id)
    pairs = [
        (document.text, subject.uri, f"[{row}].subjects[{place}].uri")
        for row, document in enumerate(documents)
        for place, subject in enumerate(document.subjects)
    ]
    check_size(served, pairs, "subjects")

    def lesson(tagger: Tagger) -> None:
        state = tagger._state
        tagger.learn([(text, state.name(state.find(uri, field)), True) for text, uri, field in pairs])

    if pairs:
        await served.teach(lesson)


# -- in Annif's terms -------------------------------------------------------------------------------------


async def _suggest(
    served: Served, texts: Sequence[str], limit: int, threshold: float, language: str | None
) -> list[list[dict[str, Any]]]:
    check_size(served, texts, "documents")
    language = language if _languages(served.tagger) else None
    check_language(served, language)
    if not texts or limit == 0:
        return [[] for _ in texts]
    # A threshold of 0 omits nothing, which must hold for models whose scores are not probabilities, too.
    found = await served.suggest(texts, Wish(min(limit, MAX_K), threshold or None))
    tagger = served.tagger
    return [[_subject(tagger, label, score, language) for label, score in suggestions] for suggestions in found]


def _subject(tagger: Tagger, label: str, score: float, language: str | None) -> dict[str, Any]:
    uri, notation = _identifiers(tagger.vocabulary_, label)
    name = tagger.readable(label, language)
    return {"uri": uri, "label": name, "notation": notation, "score": round(score, DECIMALS)}


def _identifiers(vocabulary: Vocabulary | None, label: str) -> tuple[str, str | None]:
    """The URI of a label, or its id if it has none, and its notation: the id of a label that has a URI as well."""
    if vocabulary is None or label not in vocabulary:
        return label, None
    own = vocabulary.ids[vocabulary.find(label)]
    uri = next(filter(_is_uri, (label, *vocabulary.names_of(label))), own)
    return uri, None if own == uri or _is_uri(own) else own


def _is_uri(name: str) -> bool:
    return "://" in name or name.startswith("urn:")


def _project(served: Served) -> dict[str, Any]:
    tagger, languages = served.tagger, _languages(served.tagger)
    code = tagger.language if tagger.names_ is None else tagger.names_.index.language
    language = code if code in LANGUAGES else None
    size = len(tagger.classes_) if tagger.vocabulary_ is None else len(tagger.vocabulary_)
    own = [] if language is None else [language]
    return {
        "project_id": served.name,
        "name": served.name,
        "language": language or "und",  # undetermined, as BCP 47 has it
        "backend": {"backend_id": type(tagger.model_).__name__},
        "vocab": {"vocab_id": served.name, "languages": languages or own, "size": size, "loaded": True},
        "vocab_language": language,
        "is_trained": True,
        "modification_time": served.loaded_at,
    }


def _languages(tagger: Tagger) -> list[str]:
    """The languages of the vocabulary; empty where it does not tell them apart."""
    return [] if tagger.vocabulary_ is None else sorted(tagger.vocabulary_.translations)

"""Annif's REST interface, so that clients of Annif work with this service; a project is a served model.

The interface is described in ``annif/openapi/annif.yaml`` of https://github.com/NatLibFi/Annif.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Body, Depends, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tacit._version import __version__
from tacit.data.vocabulary import Vocabulary
from tacit.errors import did_you_mean, spelt_alike
from tacit.server.problems import Problem
from tacit.server.request_limits import MAX_K
from tacit.server.routes import (
    JSON_ONLY,
    OF_BODIES,
    check_language,
    check_media_type,
    check_size,
    judged,
    models_of,
    problems,
    suggested,
)
from tacit.server.schemas import Items, LabelName, Text
from tacit.server.served_models import Served
from tacit.tagger.suggest import DECIMALS, Wish
from tacit.tagger.tagger import Tagger
from tacit.text.words import DETECTED, LANGUAGES, language_scores

FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 100  # of a form; Annif's clients may add metadata
_MAX_DOCUMENTS = 32
_UNDETERMINED = "und"  # as BCP 47 has it
_CHARACTERS_TO_DETECT = 10_000

Limit = Annotated[
    int, Field(ge=0, le=2**31 - 1, description="Maximum number of suggestions per text; there are 1,000 at most.")
]
Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="Omit suggestions with a lower score.")]
LabelLanguage = Annotated[
    str | None,
    Field(max_length=40, description="Of labels; ignored if the vocabulary does not tell languages apart."),
]
ProjectId = Annotated[str, Path(max_length=200, description="Name of the model.")]


# -- requests and responses -------------------------------------------------------------------------------


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)  # unknown fields are ignored, as Annif does


class SuggestForm(BaseModel):
    """A text, and which suggestions are wanted."""

    text: Text
    limit: Limit = 10
    threshold: Threshold = 0.0
    language: LabelLanguage = None


class Document(_Body):
    """A text with an optional identifier."""

    text: Text
    document_id: Text | None = None


class DocumentBatch(_Body):
    """Several texts."""

    documents: list[Document] = Field(max_length=_MAX_DOCUMENTS, fail_fast=True)


class IndexedSubject(_Body):
    """A label, given by its URI or any of its names."""

    uri: LabelName
    label: str | None = None


class IndexedDocument(_Body):
    """A text and its known correct labels."""

    text: Text
    subjects: Items[IndexedSubject] = []


class DetectRequest(_Body):
    """A text, and the languages that it may be in."""

    text: Text
    languages: list[Annotated[str, Field(json_schema_extra={"enum": list(DETECTED)}, min_length=2, max_length=3)]] = (
        Field(min_length=1, max_length=5, description="Codes of languages.")
    )


class ApiInfo(BaseModel):
    """The software that answers."""

    title: str
    version: str


class Backend(BaseModel):
    """The algorithm of a project."""

    backend_id: str


class AnnifVocabulary(BaseModel):
    """The labels of a project."""

    vocab_id: str
    languages: list[str]
    size: int | None
    loaded: bool


class VocabularyList(BaseModel):
    """The labels of each project."""

    vocabs: list[AnnifVocabulary]


class Project(BaseModel):
    """A served model."""

    project_id: str
    name: str
    language: str
    backend: Backend
    vocab: AnnifVocabulary | None
    vocab_language: str | None
    is_trained: bool
    modification_time: str | None


class ProjectList(BaseModel):
    """All served models."""

    projects: list[Project]


class Subject(BaseModel):
    """A suggested label."""

    uri: str = Field(description="The URI of the label; without one, its id.")
    label: str
    notation: str | None
    score: float


class SubjectList(BaseModel):
    """The suggestions for a text, best first."""

    results: list[Subject]


class DocumentSubjects(SubjectList):
    """The suggestions for a document, best first."""

    document_id: str | None


class LanguageScore(BaseModel):
    """How strongly a text points to a language; null stands for none of the candidates."""

    language: str | None
    score: float


class LanguageScores(BaseModel):
    """Candidate languages, best first; the scores add up to 1."""

    results: list[LanguageScore]


# -- endpoints --------------------------------------------------------------------------------------------

annif = APIRouter(prefix="/v1", tags=["annif"])


async def _form(request: Request) -> SuggestForm:
    """The body of a request as a form."""
    check_media_type(request, FORM)
    try:
        body = (await request.body()).decode()
        fields = dict(parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise Problem(400, f"the request body is not a form in UTF-8 with at most {_MAX_FIELDS} fields") from None
    try:
        return SuggestForm.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


_FORM_BODY = {"required": True, "content": {FORM: {"schema": SuggestForm.model_json_schema()}}}


@annif.get("/", response_model=ApiInfo, responses=problems())
async def info() -> Any:
    """Name and version of the software."""
    return {"title": "tacit", "version": __version__}


@annif.get("/projects", response_model=ProjectList, responses=problems())
async def projects(request: Request) -> Any:
    """List the projects."""
    return {"projects": [_project(served) for served in models_of(request).values()]}


@annif.get("/projects/{project_id}", response_model=Project, responses=problems(404, 422))
async def project(request: Request, project_id: ProjectId) -> Any:
    """Describe a project."""
    return _project(models_of(request).find(project_id))


@annif.get("/vocabs", response_model=VocabularyList, responses=problems())
async def vocabs(request: Request) -> Any:
    """List the vocabularies; each project has its own."""
    return {"vocabs": [_vocabulary(served) for served in models_of(request).values()]}


@annif.post(
    "/projects/{project_id}/suggest",
    response_model=SubjectList,
    responses=problems(*OF_BODIES),
    openapi_extra={"requestBody": _FORM_BODY},
)
async def suggest(request: Request, project_id: ProjectId, form: Annotated[SuggestForm, Depends(_form)]) -> Any:
    """Suggest labels for a text."""
    served = models_of(request).find(project_id)
    (subjects,) = await _suggest(request, served, [form.text], form.limit, form.threshold, form.language)
    return {"results": subjects}


@annif.post(
    "/projects/{project_id}/suggest-batch",
    response_model=list[DocumentSubjects],
    responses=problems(*OF_BODIES),
    dependencies=[JSON_ONLY],
)
async def suggest_batch(
    request: Request,
    project_id: ProjectId,
    batch: DocumentBatch,
    limit: Limit = 10,
    threshold: Threshold = 0.0,
    language: LabelLanguage = None,
) -> Any:
    """Suggest labels for several texts."""
    served = models_of(request).find(project_id)
    texts = [document.text for document in batch.documents]
    found = await _suggest(request, served, texts, limit, threshold, language)
    return [
        {"document_id": document.document_id, "results": subjects}
        for document, subjects in zip(batch.documents, found, strict=True)
    ]


@annif.post(
    "/projects/{project_id}/learn",
    status_code=204,
    response_class=Response,
    responses=problems(*OF_BODIES, 403, 507),
    dependencies=[JSON_ONLY],
)
async def learn(
    request: Request, project_id: ProjectId, documents: Annotated[Items[IndexedDocument], Body()]
) -> Response:
    """Learn from texts with known labels, as from accepted suggestions; the service must allow it."""
    served = models_of(request).find(project_id)
    if not request.app.state.settings.annif_learn:
        raise Problem(403, "learning through this endpoint is off; 'tacit serve' allows it with --annif-learn")
    pairs = [
        (document.text, subject.uri, f"[{row}].subjects[{place}].uri")
        for row, document in enumerate(documents)
        for place, subject in enumerate(document.subjects)
    ]
    check_size(served, pairs, "subjects")
    if pairs:
        await judged(request, served, await served.ask(partial(_judgements, pairs=pairs)))
    return Response(status_code=204)


@annif.post(
    "/detect-language",
    response_model=LanguageScores,
    responses=problems(400, 408, 413, 415, 422),
    dependencies=[JSON_ONLY],
)
async def detect_language(asked: DetectRequest) -> Any:
    """Tell which of several languages a text is in."""
    for place, code in enumerate(asked.languages):
        if code not in DETECTED:
            detail = f"unknown language '{code}'{did_you_mean(code, DETECTED)}; there are: {', '.join(DETECTED)}"
            raise Problem(422, detail, field=f"languages[{place}]", nearest=spelt_alike(code, DETECTED))
    scores = language_scores([asked.text[:_CHARACTERS_TO_DETECT]], asked.languages)
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    return {"results": [{"language": code, "score": round(score, DECIMALS)} for code, score in ordered]}


# -- in Annif's terms -------------------------------------------------------------------------------------


async def _suggest(
    request: Request, served: Served, texts: Sequence[str], limit: int, threshold: float, language: str | None
) -> list[list[dict[str, Any]]]:
    check_size(served, texts, "documents")
    language = language if _languages(served.tagger) else None
    check_language(served, language)
    if not texts or limit == 0:
        return [[] for _ in texts]
    # A threshold of 0 omits nothing, which must hold for models whose scores are not probabilities, too.
    found = await suggested(request, served, texts, Wish(min(limit, MAX_K), threshold or None))
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


def _judgements(tagger: Tagger, pairs: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Texts and labels as accepted suggestions; an unknown label is an error at its place in the request."""
    state = tagger._state
    return [{"text": text, "label": state.name(state.find(uri, field)), "accepted": True} for text, uri, field in pairs]


def _project(served: Served) -> dict[str, Any]:
    changed = max((nanoseconds // 10**9 for _, nanoseconds, _ in served.signature), default=None)
    return {
        "project_id": served.name,
        "name": served.name,
        "language": _language(served.tagger) or _UNDETERMINED,
        "backend": {"backend_id": type(served.tagger.model_).__name__},
        "vocab": _vocabulary(served),
        "vocab_language": _language(served.tagger),
        "is_trained": True,
        "modification_time": changed and time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(changed)),
    }


def _vocabulary(served: Served) -> dict[str, Any]:
    tagger = served.tagger
    language = _language(tagger)
    labels: Any = tagger.classes_ if tagger.vocabulary_ is None else tagger.vocabulary_
    return {
        "vocab_id": served.name,
        "languages": _languages(tagger) or ([] if language is None else [language]),
        "size": len(labels),
        "loaded": True,
    }


def _languages(tagger: Tagger) -> list[str]:
    """The languages of the vocabulary; empty where it does not tell them apart."""
    return [] if tagger.vocabulary_ is None else sorted(tagger.vocabulary_.translations)


def _language(tagger: Tagger) -> str | None:
    """The language of a model's texts, given or detected in training; None if neither is known."""
    code = tagger.language if tagger.names_ is None else tagger.names_.index.language
    return code if code in LANGUAGES else None

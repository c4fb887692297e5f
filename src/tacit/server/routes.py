"""The endpoints of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from tacit._version import __version__
from tacit.errors import ParameterError
from tacit.server import schemas
from tacit.server.answers import card_of, find_acts, find_labels, reasons, report_of
from tacit.server.monitoring import CONTENT_TYPE
from tacit.server.problems import MEDIA_TYPE, Problem
from tacit.server.request_limits import MAX_K
from tacit.server.served_models import Lesson, Models, Served
from tacit.tagger.suggest import DECIMALS, Wish
from tacit.tagger.tagger import Tagger

#: A report has its style inside, and loads nothing.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: The description of every error.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem (RFC 9457)",
        "content": {MEDIA_TYPE: {"schema": schemas.ProblemDocument.model_json_schema()}},
    }
}

api = APIRouter(default_response_class=Response, responses=PROBLEMS)
ModelQuery = Annotated[str | None, Query(description="Name of the model; by default the first one.")]
ModelPath = Annotated[str, Path(max_length=200)]
Offset = Annotated[int, Query(ge=0, le=2**31)]
Limit = Annotated[int, Query(ge=1, le=1000)]


@api.post("/v1/suggest", response_model=schemas.SuggestAnswer, tags=["suggest"])
async def suggest(request: Request, asked: schemas.SuggestRequest) -> Any:
    """Suggest labels for one text or several."""
    served = served_model(request, asked.model)
    texts = asked.texts or [asked.text]
    check_size(served, texts, "texts")
    _check_threshold(served, asked.threshold)
    check_language(served, asked.language)
    include, exclude = (None if labels is None else tuple(labels) for labels in (asked.include, asked.exclude))
    found = await served.suggest(texts, Wish(asked.k, asked.threshold, include, exclude, asked.damp_head))
    tagger = served.tagger
    results = [
        {
            "suggestions": [
                {"label": label, "name": tagger.readable(label, asked.language), "score": round(score, DECIMALS)}
                for label, score in suggestions[:MAX_K]
            ]
        }
        for suggestions in found
    ]
    return _json({"model": served.name, "results": results})


@api.post("/v1/explain", response_model=schemas.ExplainAnswer, tags=["suggest"])
async def explain(request: Request, asked: schemas.ExplainRequest) -> Any:
    """Explain a label for a text: the words, labels and training samples that support it."""
    served = served_model(request, asked.model)
    return _json(await served.ask(lambda tagger: reasons(tagger, asked.text, asked.label, asked.n)))


@api.get("/v1/labels", response_model=schemas.LabelsAnswer, tags=["labels"])
async def labels(
    request: Request,
    model: ModelQuery = None,
    search: Annotated[str, Query(max_length=500, description="Part of a name or alternative name, in any case.")] = "",
    offset: Offset = 0,
    limit: Limit = 20,
) -> Any:
    """List labels by any of their names: first those whose name starts with the search string, then by frequency."""
    served = served_model(request, model)
    total, found = await served.ask(lambda tagger: find_labels(tagger, search, offset, limit))
    return _json({"model": served.name, "total": total, "labels": found})


@api.post("/v1/labels", status_code=201, response_model=schemas.RecordedAct, tags=["teach"])
async def add_label(request: Request, asked: schemas.NewLabel) -> Any:
    """Add a label without training; /v1/undo removes it again."""
    served = served_model(request, asked.model)
    check_size(served, asked.examples or (), "examples")
    content = asked.model_dump(exclude={"model"}, exclude_none=True)
    return await _taught(served, lambda tagger: tagger.add_label(**content), 201)


@api.post("/v1/feedback", status_code=201, response_model=schemas.RecordedAct, tags=["teach"])
async def feedback(request: Request, asked: schemas.FeedbackRequest) -> Any:
    """Accept or reject suggestions; they are saved and learned before the response is sent."""
    served = served_model(request, asked.model)
    check_size(served, asked.judgements, "judgements")
    judgements = [(each.text, each.label, each.accepted) for each in asked.judgements]
    return await _taught(served, lambda tagger: tagger.learn(judgements), 201)


@api.post("/v1/undo", response_model=schemas.RecordedAct, tags=["teach"])
async def undo(request: Request, asked: schemas.UndoRequest) -> Any:
    """Undo an act: the last one, or the one with the given id."""

    def lesson(tagger: Tagger) -> str:
        try:
            return tagger.undo(asked.id)
        except ParameterError as error:
            raise Problem(409, str(error), field="id") from None

    return await _taught(served_model(request, asked.model), lesson, 200)


@api.get("/v1/acts", response_model=schemas.ActsAnswer, tags=["teach"])
async def acts(request: Request, model: ModelQuery = None, offset: Offset = 0, limit: Limit = 20) -> Any:
    """List the acts in force, the latest first."""
    served = served_model(request, model)
    total, found = await served.ask(lambda tagger: find_acts(tagger, offset, limit))
    return _json({"model": served.name, "total": total, "acts": found})


@api.get("/v1/models", response_model=schemas.ModelsAnswer, tags=["models"])
async def models(request: Request) -> Any:
    """List the models that are served."""
    served = request.app.state.models.values()
    await asyncio.gather(*(each.catch_up() for each in served))
    return _json({"version": __version__, "models": [card_of(each) for each in served]})


@api.post("/v1/models/{name}/reload", response_model=schemas.ServedModel, tags=["models"])
async def reload(request: Request, name: ModelPath, _: schemas.NoContent) -> Any:
    """Reload a model from its folder without interrupting the service."""
    served = served_model(request, name)
    await served.reload()
    return _json(card_of(served))


@api.get("/v1/models/{name}/report", responses={200: {"content": {"text/html": {}}}}, tags=["models"])
async def report(request: Request, name: ModelPath) -> Any:
    """The evaluation report of a model: the file report.html in its folder, if it is on this model."""
    content = await asyncio.to_thread(report_of, served_model(request, name))
    if content is None:
        raise Problem(404, f"'{name}' has no report; write one: tacit evaluate MODEL DATA --report MODEL/report.html")
    return Response(content, media_type="text/html", headers={"Content-Security-Policy": _REPORT_POLICY})


@api.get("/healthz", response_model=schemas.Health, tags=["service"])
async def healthz() -> Any:
    """Health check: the service is running and all its models are loaded."""
    return _json({"status": "ready"})


@api.get("/metrics", responses={200: {"content": {"text/plain": {}}}}, tags=["service"])
async def metrics(request: Request) -> Any:
    """Metrics for Prometheus."""
    await asyncio.gather(*(served.catch_up() for served in request.app.state.models.values()))
    return Response(request.app.state.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


# -- what the endpoints share -----------------------------------------------------------------------------


def served_model(request: Request, name: str | None) -> Served:
    """The model that a request names; its name is logged."""
    models: Models = request.app.state.models
    served = models.find(name)
    request.scope["tacit.about"] = {"model": served.name}
    return served


async def _taught(served: Served, lesson: Lesson, status: int) -> Response:
    of, act = await served.teach(lesson)
    return _json({"model": served.name, "id": of, "act": act}, status)


def check_size(served: Served, items: Sequence[Any], field: str) -> None:
    """Raise if a request has more texts, examples or judgements than the service takes."""
    if len(items) > served.max_batch:
        raise Problem(422, f"{field}: at most {served.max_batch} in a request; got {len(items)}", field=field)


def _check_threshold(served: Served, threshold: float | str | None) -> None:
    """Raise for an invalid threshold, before the request is queued."""
    try:
        served.tagger.threshold_for(Wish(threshold=threshold).threshold)
    except ParameterError as error:
        raise Problem(422, str(error), field="threshold") from None


def check_language(served: Served, language: str | None) -> None:
    """Raise if labels have no names in a language."""
    try:
        served.tagger.check_language(language)
    except ParameterError as error:
        raise Problem(404, str(error), field="language") from None


def _json(content: Any, status: int = 200) -> Response:
    compact = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return Response(compact.encode(), status, media_type="application/json")

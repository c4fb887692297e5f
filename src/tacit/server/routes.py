"""The endpoints of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from tacit._version import __version__
from tacit.errors import ModelFileError, ParameterError, TacitError
from tacit.server import schemas
from tacit.server.answers import card_of, find_acts, find_labels, reasons, report_of
from tacit.server.logs import failure
from tacit.server.monitoring import CONTENT_TYPE, Metrics
from tacit.server.problems import MEDIA_TYPE, Problem
from tacit.server.request_limits import MAX_K
from tacit.server.served_models import Lesson, Models, Served
from tacit.server.site import REPORT_POLICY
from tacit.tagger.suggest import DECIMALS, Suggestion, Wish
from tacit.tagger.tagger import Tagger


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of the errors of an endpoint."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {status: {"description": "A problem", "content": content} for status in (401, 421, *statuses)}


def check_media_type(request: Request, wanted: str = "application/json") -> None:
    """Raise unless a body is what its endpoint takes: forms, which pages of other sites can send, change nothing."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and given != wanted:
        raise Problem(415, f"the Content-Type of the request body must be {wanted}; got '{given[:200]}'")


async def _check_json(request: Request) -> None:
    check_media_type(request)


JSON_ONLY = Depends(_check_json)
OF_BODIES = (400, 404, 408, 409, 413, 415, 422, 429, 503)
_TEACHING: dict[str, Any] = {  # of endpoints that record an act
    "status_code": 201, "response_model": schemas.RecordedAct, "responses": problems(*OF_BODIES, 507), "tags": ["teach"]
}  # fmt: skip

_MODEL = "Name of the model; by default the first one."

api = APIRouter(default_response_class=Response, dependencies=[JSON_ONLY])


@api.post("/v1/suggest", response_model=schemas.SuggestAnswer, responses=problems(*OF_BODIES), tags=["suggest"])
async def suggest(request: Request, asked: schemas.SuggestRequest) -> Any:
    """Suggest labels for one text or several."""
    served = _served(request, asked.model)
    texts = asked.all_texts()
    check_size(served, texts, "texts")
    _check_threshold(served, asked.threshold)
    check_language(served, asked.language)
    wish = Wish(asked.k, asked.threshold, _chosen(asked.include), _chosen(asked.exclude), asked.damp_head)
    found = await suggested(request, served, texts, wish)
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


@api.post("/v1/explain", response_model=schemas.ExplainAnswer, responses=problems(*OF_BODIES), tags=["suggest"])
async def explain(request: Request, asked: schemas.ExplainRequest) -> Any:
    """Explain a label for a text: the words, labels and training samples that support it."""
    served = _served(request, asked.model)
    found = await served.ask(lambda tagger: reasons(tagger, asked.text, asked.label, asked.n))
    return _json({"model": served.name, **found})


@api.get("/v1/labels", response_model=schemas.LabelsAnswer, responses=problems(404, 422, 429, 503), tags=["labels"])
async def labels(
    request: Request,
    model: Annotated[str | None, Query(description=_MODEL)] = None,
    search: Annotated[str, Query(max_length=500, description="Part of a name or alternative name, in any case.")] = "",
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Any:
    """List labels by any of their names: first those whose name starts with the search string, then by frequency."""
    served = _served(request, model)
    total, found = await served.ask(lambda tagger: find_labels(tagger, search, offset, limit))
    return _json({"model": served.name, "total": total, "labels": found})


@api.post("/v1/labels", **_TEACHING)
async def add_label(request: Request, asked: schemas.NewLabel) -> Any:
    """Add a label without training; /v1/undo removes it again."""
    served = _served(request, asked.model)
    check_size(served, asked.examples or (), "examples")
    content = asked.model_dump(exclude={"model"}, exclude_none=True)
    return await _taught(request, served, "add", lambda tagger: tagger.add_label(**content))


@api.post("/v1/feedback", **_TEACHING)
async def feedback(request: Request, asked: schemas.FeedbackRequest) -> Any:
    """Accept or reject suggestions; they are saved and learned before the response is sent."""
    served = _served(request, asked.model)
    check_size(served, asked.judgements, "judgements")
    return await judged(request, served, asked.model_dump()["judgements"])


@api.post("/v1/undo", response_model=schemas.RecordedAct, responses=problems(*OF_BODIES, 507), tags=["teach"])
async def undo(request: Request, asked: schemas.UndoRequest) -> Any:
    """Undo an act: the last one, or the one with the given id."""
    served = _served(request, asked.model)

    def lesson(tagger: Tagger) -> str:
        try:
            return tagger.undo(asked.id)
        except ParameterError as error:
            raise Problem(409, str(error), field="id") from None

    of, act = await _on_disk(served.teach(lesson))
    return _json({"model": served.name, "id": of, "act": act})


@api.get("/v1/acts", response_model=schemas.ActsAnswer, responses=problems(404, 422, 429, 503), tags=["teach"])
async def acts(
    request: Request,
    model: Annotated[str | None, Query(description=_MODEL)] = None,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Any:
    """List the acts in force, the latest first."""
    served = _served(request, model)
    total, found = await served.ask(lambda tagger: find_acts(tagger, offset, limit))
    return _json({"model": served.name, "total": total, "acts": found})


@api.get("/v1/models", response_model=schemas.ModelsAnswer, responses=problems(), tags=["models"])
async def models(request: Request) -> Any:
    """List the models that are served."""
    for served in models_of(request).values():
        await served.catch_up()
    return _json({"version": __version__, "models": [card_of(served) for served in models_of(request).values()]})


@api.post(
    "/v1/models/{name}/reload",
    response_model=schemas.ServedModel,
    responses=problems(*OF_BODIES),
    openapi_extra={"requestBody": {"required": True}},  # its type is: a browser sends none unasked
    tags=["models"],
)
async def reload(
    request: Request, name: Annotated[str, Path(max_length=200)], _: schemas.ReloadRequest | None = None
) -> Any:
    """Reload a model from its folder without interrupting the service."""
    served = _served(request, name)
    try:
        await served.reload()
    except TacitError:
        raise Problem(409, "the folder does not hold a valid model; the old one stays in use, see the log") from None
    return _json(card_of(served))


@api.get(
    "/v1/models/{name}/report",
    responses={200: {"content": {"text/html": {}}}, **problems(404, 422)},
    tags=["models"],
)
async def report(request: Request, name: Annotated[str, Path(max_length=200)]) -> Any:
    """The evaluation report of a model: the file report.html in its folder, if it is on this model."""
    content = await asyncio.to_thread(report_of, _served(request, name))
    if content is None:
        raise Problem(404, f"'{name}' has no report; write one: tacit evaluate MODEL DATA --report MODEL/report.html")
    return Response(content, headers={"Content-Type": "text/html; charset=utf-8", **REPORT_POLICY})


@api.get("/healthz", response_model=schemas.Health, responses={421: problems()[421]}, tags=["service"])
async def healthz() -> Any:
    """Health check: the service is running and all its models are loaded."""
    return _json({"status": "ready"})


@api.get("/metrics", responses={200: {"content": {"text/plain": {}}}, **problems()}, tags=["service"])
async def metrics(request: Request) -> Any:
    """Metrics for Prometheus."""
    for served in models_of(request).values():
        await served.catch_up()
        served.set_gauges()
    return Response(_metrics(request).text(), headers={"Content-Type": CONTENT_TYPE})


# -- what the endpoints share -----------------------------------------------------------------------------


def models_of(request: Request) -> Models:
    """The models that are served."""
    found: Models = request.app.state.models
    return found


def _metrics(request: Request) -> Metrics:
    found: Metrics = request.app.state.metrics
    return found


def _served(request: Request, name: str | None) -> Served:
    return models_of(request).find(name)


def _about(request: Request, **about: Any) -> None:
    """Set the details of a request that are logged."""
    request.scope["tacit.about"] = about


async def suggested(request: Request, served: Served, texts: Sequence[str], wish: Wish) -> list[list[Suggestion]]:
    """The suggestions for texts; they are logged and counted."""
    found = await served.suggest(texts, wish)
    _about(request, model=served.name, texts=len(texts))
    _metrics(request).texts.labels(served.name).inc(len(texts))
    return found


async def judged(request: Request, served: Served, judgements: Sequence[Mapping[str, Any]]) -> Response:
    """Record and count judgements; the response says which act they are."""
    found = [(each["text"], each["label"], each["accepted"]) for each in judgements]
    answer = await _taught(request, served, "judge", lambda tagger: tagger.learn(found))
    for judgement in judgements:
        _metrics(request).judged.labels(served.name, str(judgement["accepted"]).lower()).inc()
    return answer


async def _taught(request: Request, served: Served, kind: str, lesson: Lesson) -> Response:
    _about(request, model=served.name, act=kind)
    of, act = await _on_disk(served.teach(lesson))
    return _json({"model": served.name, "id": of, "act": act}, 201)


async def _on_disk(writing: Any) -> Any:
    """Await the writing of an act; if it fails, raise a problem with status 507."""
    try:
        return await writing
    except ModelFileError as error:
        failure("act not written", error)
        raise Problem(507, "the act could not be written to disk and is not recorded; see the log") from None


def check_size(served: Served, items: Any, field: str) -> None:
    """Raise if a request has more texts, examples or judgements than the model takes."""
    most = served.limits.max_batch
    if len(items) > most:
        raise Problem(422, f"{field}: at most {most} in a request; got {len(items)}", field=field)


def _check_threshold(served: Served, threshold: float | str | None) -> None:
    """Raise for an invalid threshold, before the request is queued."""
    try:
        wish = Wish(threshold=threshold)  # a number in a text becomes a number
        if isinstance(wish.threshold, float) and abs(wish.threshold) > 1e9:
            raise ParameterError(f"threshold must be between -1e9 and 1e9; got {threshold}")
        served.tagger.threshold_for(threshold)
    except ParameterError as error:
        raise Problem(422, str(error), field="threshold") from None


def check_language(served: Served, language: str | None) -> None:
    """Raise if labels have no names in a language."""
    try:
        served.tagger.check_language(language)
    except ParameterError as error:
        raise Problem(404, str(error), field="language") from None


def _chosen(labels: list[str] | None) -> tuple[str, ...] | None:
    return None if labels is None else tuple(labels)


def _json(content: Any, status: int = 200) -> Response:
    compact = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return Response(compact.encode(), status, media_type="application/json")

"""Errors of the service: problem documents (RFC 9457) that name the invalid field and never show a stack trace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from tacit.errors import TacitError

MEDIA_TYPE = "application/problem+json"
MAX_ERRORS = 10  # in a problem document
_LONGEST_FIELD = 80  # characters; clients choose the names of fields
SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_METHODS = ("GET", "POST")  # of any endpoint
_TITLES = {
    400: "Malformed request",
    401: "A token is required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict with the state of the model",
    413: "The request body is too large",
    415: "Unsupported content type",
    421: "Host name not allowed",
    422: "Invalid request",
    429: "Too many requests",
    431: "The request headers are too large",
    500: "Internal error",
    503: "The service is too busy",
    507: "The change could not be saved",
}


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it so
    """An error that is sent to the client as a problem document."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        nearest: Sequence[str] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.errors = [{"field": field[:_LONGEST_FIELD], "message": detail}] if field else []
        self.detail = detail
        self.nearest = list(nearest)
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

    def response(self) -> Response:
        """The problem document."""
        document: dict[str, Any] = {
            "type": "about:blank",
            "title": _TITLES.get(self.status, "The request failed"),
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            document["errors"] = self.errors
        if self.nearest:
            document["nearest"] = self.nearest
        content = json.dumps(document, ensure_ascii=True)
        return Response(content, self.status, self.headers, MEDIA_TYPE)


def busy(detail: str) -> Problem:
    """Too many requests at once; the client may retry after a second."""
    return Problem(429, detail, retry_after=1)


def answer_problems(app: FastAPI) -> None:
    """Make an app answer every error with a problem document."""

    async def answer(request: Request, error: Exception) -> Response:
        problem = _problem_of(error)
        if problem.status == 405:
            problem.headers["Allow"] = ", ".join(allowed(request.scope))
        return problem.response()

    def allowed(scope: Scope) -> list[str]:
        """All methods of a path; Starlette names those of its first route only."""
        scopes = {method: {**scope, "method": method} for method in _METHODS}
        return [name for name, each in scopes.items() if any(r.matches(each)[0] == Match.FULL for r in app.routes)]

    for kind in (Problem, TacitError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return _of_fields(error)
    if isinstance(error, HTTPException):
        return _of_routing(error)
    if isinstance(error, TacitError):
        return Problem(422, " ".join(str(error).split()))
    return Problem(500, "internal error in the service; see its log")


def _of_routing(error: HTTPException) -> Problem:
    details = {404: "unknown endpoint; /openapi.json lists all endpoints",
               405: "this endpoint does not accept the method; /openapi.json lists the methods it accepts",
               400: "the request body is not JSON in UTF-8"}  # fmt: skip
    problem = Problem(error.status_code, details.get(error.status_code, str(error.detail)))
    problem.headers.update(error.headers or {})
    return problem


def _of_fields(error: RequestValidationError) -> Problem:
    found = error.errors()[:MAX_ERRORS]
    if any(each["type"] == "json_invalid" for each in found):
        reason = found[0].get("ctx", {}).get("error", "it cannot be parsed")
        return Problem(400, f"the request body is not JSON: {reason}")
    problem = Problem(422, "")
    problem.errors = [{"field": _place(each["loc"]), "message": _message(each)} for each in found]
    problem.detail = "; ".join(f"{each['field']}: {each['message']}" for each in problem.errors[:3])
    return problem


def _place(parts: Sequence[str | int]) -> str:
    """The path of a field, such as ``judgements[0].text``."""
    inside = [part for part in parts if part not in ("body", "query", "path", "header")]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in inside).lstrip(".")
    return path[:_LONGEST_FIELD] or "body"


def _message(error: Mapping[str, Any]) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:]

"""Errors of the service: problem documents (RFC 9457) that name the invalid field and never show a stack trace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tacit.errors import ActError, LabelError, TacitError, UnknownLabelError

MEDIA_TYPE = "application/problem+json"
_MAX_ERRORS = 10  # in a problem document
_LONGEST_FIELD = 80  # characters; clients choose the names of fields


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it so
    """An error that is sent to the client as a problem document."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        field: str | None = None,
        nearest: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = [{"field": field[:_LONGEST_FIELD], "message": detail}] if field else []
        self.nearest = list(nearest)
        self.headers = headers

    def response(self) -> Response:
        """The problem document."""
        document: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        optional = {"errors": self.errors, "nearest": self.nearest}
        document.update((name, value) for name, value in optional.items() if value)
        return Response(json.dumps(document), self.status, self.headers, MEDIA_TYPE)


def answer_problems(app: FastAPI) -> None:
    """Make an app answer every error with a problem document."""

    async def answer(_: Request, error: Exception) -> Response:
        return _problem_of(error).response()

    for kind in (Problem, TacitError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return _of_fields(error)
    if isinstance(error, HTTPException):
        is_unknown = error.status_code == 404
        detail = "unknown endpoint; /openapi.json lists all endpoints" if is_unknown else str(error.detail)
        return Problem(error.status_code, detail, headers=error.headers)
    if isinstance(error, UnknownLabelError):
        return Problem(404, error.reason, field=error.field or "label", nearest=error.nearest)
    if isinstance(error, LabelError | ActError):
        return Problem(409, error.reason, field=error.field or "label")
    if isinstance(error, TacitError):
        return Problem(422, " ".join(str(error).split()))
    return Problem(500, "internal error in the service; see its log")


def _of_fields(error: RequestValidationError) -> Problem:
    found = error.errors()[:_MAX_ERRORS]
    if any(each["type"] == "json_invalid" for each in found):
        return Problem(400, f"the request body is not JSON: {found[0]['ctx']['error']}")
    problem = Problem(422, "")
    problem.errors = [{"field": _field(each["loc"]), "message": _message(each["msg"])} for each in found]
    problem.detail = "; ".join(f"{each['field']}: {each['message']}" for each in problem.errors[:3])
    return problem


def _field(parts: Sequence[str | int]) -> str:
    """The path of a field, such as ``judgements[0].text``."""
    inside = [part for part in parts if part not in ("body", "query", "path", "header")]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in inside).lstrip(".")
    return path[:_LONGEST_FIELD] or "body"


def _message(message: str) -> str:
    message = message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]

"""The documentation of the API as HTML, from its OpenAPI description; it needs no script and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tacit.report.markup import Content, Markup, table, tag

_TITLES = {"suggest": "Suggestions", "labels": "Labels", "teach": "Teaching", "models": "Models", "service": "Service",
           "annif": "Annif’s interface"}  # fmt: skip
_NO_BOUND = 1e6  # larger limits only keep out nonsense

Json = Mapping[str, Any]


def docs_page(openapi: Json) -> str:
    """The whole page."""
    groups: dict[str, list[Markup]] = {name: [] for name in _TITLES}
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append(_operation(method.upper(), path, operation, openapi))
    sections = [
        tag("section", tag("h2", title, id=name), groups[name], aria_labelledby=name) for name, title in _TITLES.items()
    ]
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, title in _TITLES.items()]
    intro = [tag("p", _prose(part)) for part in openapi["info"]["description"].split("\n\n")]
    described = " · ", tag("a", "OpenAPI description", href="/openapi.json")
    home = tag("p", tag("a", "The web page", href="/"), None if "security" in openapi else described)
    body = tag(
        "body",
        tag("header", tag("h1", "tacit: API"), tag("p", f"version {openapi['info']['version']}")),
        tag("main", intro, home, tag("nav", tag("ul", links), aria_label="Sections"), sections),
        class_="docs",
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", "tacit: API"),
        Markup('<link rel="icon" href="data:,"><link rel="stylesheet" href="/page/style.css">'),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _operation(method: str, path: str, operation: Json, openapi: Json) -> Markup:
    """One endpoint: what it does, what it takes and what it returns."""
    where = f"{method} {path}"
    parts: list[Content] = [tag("h3", tag("code", where)), tag("p", _prose(operation["description"]))]
    parameters = [
        [tag("code", each["name"]), f"{_kind(each['schema'], openapi)}, in the {each['in']}", _about(each["schema"])]
        for each in operation.get("parameters", ())
    ]
    if parameters:
        parts.append(
            table(f"Parameters of {where}", ["parameter", "type", "meaning"], parameters, n_names=3, folds=True)
        )
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(_fields(f"Request body of {where} ({media_type})", content["schema"], openapi))
        parts += [
            tag("pre", tag("code", json.dumps(example, ensure_ascii=False, indent=1)), tabindex=0)
            for example in _resolved(content["schema"], openapi).get("examples", ())
        ]
    for status, response in operation["responses"].items():
        for media_type, content in response.get("content", {}).items() if status.startswith("2") else ():
            parts.append(_fields(f"Response {status} of {where} ({media_type})", content.get("schema", {}), openapi))
    errors = [status for status in operation["responses"] if not status.startswith("2")]
    if errors:
        parts.append(tag("p", f"Errors, each a problem document: {', '.join(sorted(errors))}.", class_="muted"))
    return tag("article", parts)


def _fields(caption: str, schema: Json, openapi: Json) -> Content:
    """A table of the fields of a schema; those of objects inside follow with their path."""
    rows = list(_rows(schema, openapi, ""))
    return table(caption, ["field", "type", "meaning"], rows, n_names=3, folds=True) if rows else None


def _rows(schema: Json, openapi: Json, inside: str) -> Iterator[list[Content]]:
    schema = _resolved(schema, openapi)
    if schema.get("type") == "array":
        yield from _rows(schema["items"], openapi, f"{inside}[]")
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{inside}.{name}".lstrip(".")
        kind = _kind(field, openapi) + (" (required)" if name in required and "default" not in field else "")
        yield [tag("code", path), kind, _about(field)]
        yield from _rows(field, openapi, path)


def _about(field: Json) -> Content:
    default = field.get("default")
    remark = f" Default: {json.dumps(default)}." if default not in (None, "", []) else ""
    return _prose(field.get("description", "") + remark)


def _kind(schema: Json, openapi: Json) -> str:
    """The type of a value in words."""
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if choices:
        return " or ".join(_kind(each, openapi) for each in choices)
    schema = _resolved(schema, openapi)
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {_kind(schema['items'], openapi)}"
    bounds = [f"{schema[key]:g}" for key in ("minimum", "maximum") if abs(schema.get(key, _NO_BOUND)) < _NO_BOUND]
    return f"{kind}, {' to '.join(bounds)}" if len(bounds) == 2 else kind


def _resolved(schema: Json, openapi: Json) -> Json:
    """A schema, or the one that it refers to."""
    reference = schema.get("$ref")
    found: Json = openapi["components"]["schemas"][reference.rpartition("/")[2]] if reference else schema
    return found


def _prose(text: str) -> Content:
    """Text with `code` marked as such."""
    return [tag("code", part) if place % 2 else part for place, part in enumerate(re.split(r"`([^`]+)`", text)) if part]

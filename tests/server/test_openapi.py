"""Requests made up from the description of the service, by Schemathesis: right ones and wrong ones."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
)

from server.live import serving
from tacit.server.annif_api import annif
from tacit.server.request_limits import MAX_ITEMS
from tacit.server.routes import api

ADDRESSES = sorted((method, route.path) for route in (*api.routes, *annif.routes) for method in route.methods)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def live(saved, tmp_path_factory):
    acts = tmp_path_factory.mktemp("acts") / "acts.jsonl"
    # These are otherwise settings, which the description cannot know.
    with serving({"articles": saved}, acts, max_batch=MAX_ITEMS, max_body=100_000_000) as client:
        yield client


@pytest.fixture(scope="module")
def described(live):
    return schemathesis.openapi.from_url(f"{live.base_url}/openapi.json")


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("address", ADDRESSES, ids=" ".join)
def test_the_service_is_as_described(described, live, address, mode):
    method, path = address
    operation = described[path][method]
    has_wrong = bool(operation.body) or bool(operation.query)
    if mode == GenerationMode.NEGATIVE and not has_wrong:
        pytest.skip("takes nothing that could be wrong")
    checks = [*CHECKS, negative_data_rejection if mode == GenerationMode.NEGATIVE else positive_data_acceptance]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=20,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    def run(case):
        if operation.body:
            case.headers = {**(case.headers or {}), "Content-Type": next(iter(operation.body)).media_type}
        if "project_id" in (case.path_parameters or {}):
            case.path_parameters = {"project_id": "articles"}
        answer = case.call_and_validate(base_url=str(live.base_url), checks=checks)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"]
            assert "Traceback" not in answer.text

    run()


@pytest.mark.parametrize("path", sorted(path for method, path in ADDRESSES if method == "POST"))
def test_bodies_of_other_types_are_refused(live, path):
    """Pages of other sites can send them."""
    form, json = "application/x-www-form-urlencoded", "application/json"
    wanted = form if path.endswith("}/suggest") else json
    for other in {"text/plain", "multipart/form-data", "", form, json} - {wanted}:
        address = path.format(name="articles", project_id="articles")
        assert live.post(address, content=b"{}", headers={"Content-Type": other}).status_code == 415

"""The OpenAPI document of the HTTP door, made from the types that it decodes and encodes.

OFREP's own document is public.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from posse import __version__
from posse.live.desk import Decision
from posse.live.service import LiveStatus
from posse.live.told import Reward, Told


class Asked(msgspec.Struct, frozen=True):
    """The body of POST /v1/ask. `person`: who asks, or ""."""

    person: Annotated[str, Meta(max_length=1_000)] = ""


class DoorFailure(msgspec.Struct, frozen=True):
    """What a request that failed is answered."""

    errorCode: str  # noqa: N815  (OFREP's names)
    errorDetails: str  # noqa: N815


_FAILURES = {
    400: "the body is wrong",
    401: "the token is missing or wrong",
    403: "asked under another name, or by a page of another site",
    408: "the body did not come in time",
    413: "the body is too large",
    415: "the body is not JSON",
    429: "too many requests",
    503: "the disk cannot be written, or too many bodies come at once",
}
_TYPES = (Asked, Decision, Reward | list[Reward], list[Told], LiveStatus, DoorFailure)


def document(names: Sequence[str]) -> dict[str, Any]:
    """The document, for arms of these names."""
    (asked, decision, rewards, told, status, failure), schemas = msgspec.json.schema_components(
        _TYPES, ref_template="#/components/schemas/{name}"
    )
    schemas["Decision"]["properties"]["arm"] |= {"minimum": 0, "maximum": len(names) - 1}
    schemas["Decision"]["properties"]["name"]["enum"] = list(names)

    def operation(summary: str, answers: Mapping[int, tuple[str, Any]], **body: Any) -> Any:
        said = {code: (says, failure) for code, says in _FAILURES.items()} | dict(answers)
        responses = {
            str(code): {"description": says, "content": _as_json(schema)}
            for code, (says, schema) in said.items()
        }
        return {"summary": summary, **body, "responses": responses}

    ask = operation(
        "Which arm a request gets",
        {200: ("a decision", decision)},
        requestBody={"content": _as_json(asked)},
    )
    tell = operation(
        "Tell rewards; telling one again changes nothing",
        {200: ("what became of each", told), 409: ("each was refused", told)},
        requestBody={"content": _as_json(rewards)},
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "posse: decisions on live traffic",
            "version": __version__,
            "description": "OFREP is answered under /ofrep/v1, as its own document says.",
        },
        "security": [{}, {"bearer": []}, {"key": []}],
        "paths": {
            "/v1/ask": {"post": ask},
            "/v1/rewards": {"post": tell},
            "/v1/status": {"get": operation("What happened so far", {200: ("it", status)})},
        },
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
            "schemas": schemas,
        },
    }


def _as_json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}

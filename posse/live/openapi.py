"""The OpenAPI document of the HTTP door; OFREP's own is public."""

from collections.abc import Sequence
from typing import Any

from posse import __version__


def document(names: Sequence[str]) -> dict[str, Any]:
    """The document, for arms of these names."""
    decision = _object(
        id={"type": "string", "description": "what the reward is told under"},
        arm={"type": "integer", "minimum": 0, "maximum": len(names) - 1},
        name={"type": "string", "enum": list(names)},
        idle={
            "type": "string",
            "enum": ["", "waits", "over", "person", "crowded"],
            "description": "why the reward is not used; empty if it is",
        },
    )
    reward = _object(id={"type": "string", "maxLength": 100}, reward={"type": "number"})
    told = _object(
        ("used",),
        used={"type": "boolean"},
        refused={"type": "string", "enum": ["late", "twice", "unknown", "range"]},
        why={"type": "string"},
    )
    status = _object(
        over={"type": "boolean"},
        answer={"type": ["integer", "null"]},
        answer_name={"type": "string"},
        open={"type": "integer"},
        waiting={"type": "integer"},
        counts={"type": "object", "additionalProperties": {"type": "integer"}},
        told={"type": "number", "description": "when a reward last came, in Unix time"},
        oldest={"type": "number", "description": "seconds that the oldest decision is open"},
        latency={"type": "object", "additionalProperties": {"type": "number"}},
    )
    error = _object(errorCode={"type": "string"}, errorDetails={"type": "string"})
    rewards = {"oneOf": [_ref("Reward"), {"type": "array", "items": _ref("Reward")}]}
    answered = {"type": "array", "items": _ref("Told")}
    person = {"person": {"type": "string", "maxLength": 1000}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "posse: decisions on live traffic",
            "version": __version__,
            "description": "OFREP is answered under /ofrep/v1, as its own document says.",
        },
        "security": [{}, {"bearer": []}, {"key": []}],
        "paths": {
            "/v1/ask": {
                "post": _operation(
                    "Which arm a request gets",
                    {"type": "object", "properties": person},
                    {"200": ("a decision", _ref("Decision"))},
                )
            },
            "/v1/rewards": {
                "post": _operation(
                    "Tell rewards; telling one again changes nothing",
                    rewards,
                    {
                        "200": ("what became of each", answered),
                        "409": ("each was refused", answered),
                    },
                )
            },
            "/v1/status": {
                "get": _operation("What happened so far", None, {"200": ("it", _ref("Status"))})
            },
        },
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
            "schemas": {
                "Decision": decision,
                "Reward": reward,
                "Told": told,
                "Status": status,
                "Error": error,
            },
        },
    }


def _object(required: Sequence[str] | None = None, **properties: Any) -> dict[str, Any]:
    names = list(properties) if required is None else list(required)
    return {"type": "object", "required": names, "properties": properties}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _operation(
    summary: str, body: Any, answers: dict[str, tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    failures = {
        "400": "the body is wrong",
        "401": "the token is missing or wrong",
        "403": "asked under another name, or by a page of another site",
        "413": "the body is too large",
        "415": "the body is not JSON",
        "429": "too many requests",
        "503": "the disk cannot be written",
    }
    responses = {
        code: {"description": says, "content": {"application/json": {"schema": schema}}}
        for code, (says, schema) in answers.items()
    } | {
        code: {
            "description": says,
            "content": {"application/json": {"schema": _ref("Error")}},
        }
        for code, says in failures.items()
    }
    operation: dict[str, Any] = {"summary": summary, "responses": responses}
    if body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": body}}}
    return operation

"""The OpenAPI description, made exact: every answer a route can give, problems included."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from kb.engine.api.bodies import FileFields, NoteBody
from kb.engine.api.errors import Problem

Json = dict[str, Any]

# Possible everywhere: key, Host and Origin, parameters, a body too large, the engine's own trouble.
EVERYWHERE = ("401", "403", "413", "422", "500", "503", "507")
BY_PARAMETER = {"id": ("404",), "if-match": ("412",)}
BY_OPERATION = {
    "submit_job": ("400", "409", "415", "429"),
    "cancel_job": ("409",),
    "retry_job": ("409",),
    "update_note": ("400", "409"),
    "list_revisions": ("409", "429"),
    "revert_note": ("400", "409"),
    "clear_documents": ("400", "409"),
    "import_bundle": ("415", "429"),
    "check_integrity": ("429",),
    "events": ("429",),
    **{
        name: ("429",)
        for name in (
            "list_jobs",
            "list_documents",
            "get_document",
            "get_document_file",
            "list_tags",
            "list_audit_log",
            "search",
            "get_map",
        )
    },
}


def describe_problems(app: FastAPI) -> None:
    """Make `app.openapi` tell the truth about errors, where the framework only guesses."""

    def openapi() -> Json:
        if app.openapi_schema is None:
            app.openapi_schema = _build(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the framework's documented way


def _build(app: FastAPI) -> Json:
    schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
    schemas = schema["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for model in (Problem, NoteBody, FileFields):
        schemas[model.__name__] = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas["FileFields"]["properties"]["file"] = {"type": "string", "format": "binary", "minLength": 1}
    schemas["FileFields"]["required"] = ["file"]
    schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            if path.startswith("/api/"):
                operation["security"] = [{"key": []}, {}]
            _describe_parameters(operation)
            _describe_answers(operation)
    return schema


def _describe_parameters(operation: Json) -> None:
    """What is optional may be left out; unlike in JSON, there is no way to send it as null."""
    for parameter in operation.get("parameters", ()):
        alternatives = parameter["schema"].pop("anyOf", None)
        if alternatives is not None:
            (kind,) = [kind for kind in alternatives if kind != {"type": "null"}]
            parameter["schema"] |= kind


def _describe_answers(operation: Json) -> None:
    statuses = {*EVERYWHERE, *BY_OPERATION.get(operation["operationId"], ())}
    for parameter in operation.get("parameters", ()):
        statuses |= {*BY_PARAMETER.get(parameter["name"].lower(), ())}
    if "requestBody" in operation:
        statuses.add("400")
    for status in sorted(statuses):
        operation["responses"][status] = {
            "description": "Problem",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }

"""A folder that `kb sync` follows, and what the engine has of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import httpx
from tests.engine_program import EngineProgram

Json: TypeAlias = dict[str, Any]  # Any: the engine's JSON


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def get(engine: EngineProgram, path: str, **parameters: str | int) -> Json:
    with httpx.Client(base_url=engine.url, trust_env=False, timeout=60) as http:
        return dict(http.get(f"/api/v1/{path}", params=parameters).raise_for_status().json())


def documents_of(engine: EngineProgram, folder: Path) -> dict[str, Json]:
    """The documents of the folder by their paths in it."""
    listed = get(engine, "documents", source_folder=str(folder), limit=1_000)["documents"]
    return {document["source_path"].removeprefix(f"{folder}/"): document for document in listed}


def ids(documents: Mapping[str, Json]) -> dict[str, int]:
    return {path: document["id"] for path, document in documents.items()}

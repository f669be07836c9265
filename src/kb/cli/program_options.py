"""What an engine and an MCP server are handed, made from flags and settings."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from kb.engine.wiring import Bucket, EngineOptions
    from kb.mcp.app import McpOptions
    from kb.settings import EngineSettings, McpSettings


def load_for_engine(flags: Mapping[str, object]) -> "EngineSettings":
    """Makes the data directory, and warns of names that nobody knows. Raises `SettingsError`."""
    from kb.cli.render.programs import unusable_data_dir
    from kb.cli.unknown_names import warn_once
    from kb.settings import SettingsError, load_engine_settings

    warn_once()
    settings = load_engine_settings(flags)
    # What is kept is nobody else's to read, even in a folder that somebody has made otherwise.
    os.umask(0o077)
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(unusable_data_dir(error)) from error
    return settings


def load_for_mcp(flags: Mapping[str, object]) -> "McpSettings":
    from kb.settings import load_mcp_settings

    settings = load_mcp_settings(flags)
    settings.refuse_public_without_key()
    return settings


def make_engine_options(settings: "EngineSettings") -> "EngineOptions":
    from kb.engine.models_on_disk import model_locations
    from kb.engine.wiring import EngineOptions
    from kb.settings import cache_dir, model_folder

    cache = cache_dir()
    folder, graphs = model_locations(cache, model_folder(settings.embedding_model, cache))
    return EngineOptions(
        data_dir=settings.data_dir,
        model_folder=folder,
        graph_dir=graphs,
        max_file_bytes=settings.max_file_bytes,
        store_url=settings.store_url.get_secret_value(),
        bucket=_make_bucket(settings),
        log_format=settings.log_format,
        device=settings.device,
    )


def _make_bucket(settings: "EngineSettings") -> "Bucket | None":
    from kb.engine.wiring import Bucket

    if not settings.originals_url:
        return None
    return Bucket(
        url=settings.originals_url,
        endpoint=settings.s3_endpoint or None,
        region=settings.s3_region,
        access_key=settings.s3_access_key.get_secret_value(),
        secret_key=settings.s3_secret_key.get_secret_value(),
    )


def make_mcp_options(settings: "McpSettings", engine_url: str, *, data_dir: "Path | None" = None) -> "McpOptions":
    """`data_dir` is the engine's data directory, if it differs from the one in the settings."""
    from kb.access import Access
    from kb.mcp.app import McpOptions
    from kb.settings import every_key, present_key, private_paths

    access = Access(
        writing_keys=every_key(settings.mcp_api_key),
        reading_keys=every_key(settings.mcp_api_key_readonly),
        hosts=settings.accepted_hosts,
        origins=settings.mcp_allowed_origins,
    )
    return McpOptions(
        engine_url=engine_url,
        engine_key=present_key(settings.api_key),
        toolsets=settings.mcp_toolsets,
        collections=settings.mcp_collections,
        upload_ttl_seconds=settings.mcp_upload_ttl_seconds,
        file_roots=settings.mcp_file_roots,
        access=access,
        log_format=settings.log_format,
        private_paths=(*private_paths(), *filter(None, [data_dir])),
    )

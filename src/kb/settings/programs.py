"""The programs and their options: name, default, allowed values and meaning. A new option goes here."""

import ipaddress
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from kb.settings.folders import default_file_roots
from kb.settings.keys import every_key
from kb.settings.kinds import (
    BucketUrl,
    Collections,
    DataFolder,
    Device,
    EndpointUrl,
    EngineUrl,
    Folders,
    Host,
    Key,
    LogFormat,
    Megabytes,
    Model,
    Names,
    Origins,
    Port,
    Region,
    Seconds,
    Secret,
    StoreUrl,
    Switch,
    Toolsets,
)
from kb.sizes import BYTES_PER_MB

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")

_API_KEY_MEANING = (
    "The key that the engine demands of every request and that its clients send. Without it the engine is "
    "open to every program on the machine. Of several keys, on a line each, the engine takes any and its clients send "
    "the first."
)
_ENGINE_URL_MEANING = (
    "The address at which clients call the engine. Without it they use the host and the port in the engine's settings: "
    "`0.0.0.0` and `::` count as `127.0.0.1`, and port 0 as 8000."
)
_INSECURE_MEANING = (
    "Lets a program listen without a key on an address that other machines can reach. Otherwise it refuses to start."
)
_LOG_FORMAT_MEANING = "How the lines of the log look: for people, or one JSON object each for programs."


class SettingsError(ValueError):
    """Settings that cannot be used. Each sentence says which one and what is allowed, and holds no secret."""

    def __init__(self, *sentences: str) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences


class ProgramSettings(BaseModel):
    model_config = ConfigDict(frozen=True, str_strip_whitespace=True, validate_default=True)
    program: ClassVar[str]


class EngineSettings(ProgramSettings):
    program = "engine"

    host: Host = Field("127.0.0.1", description="The address on which the engine listens.")
    port: Port = Field(8000, description="The port on which the engine listens.")
    data_dir: DataFolder = Field(description="Where the database and the original files are kept.")
    api_key: Key = Field(SecretStr(""), description=_API_KEY_MEANING)
    api_key_readonly: Key = Field(
        SecretStr(""), description="A second key, which can only read. It needs `KB_API_KEY`."
    )
    allowed_hosts: Names = Field(
        LOOPBACK_NAMES,
        description="The names under which the engine may be called (the Host header); the address in "
        "`KB_HOST` is always one of them.",
    )
    allowed_origins: Origins = Field(
        (),
        description="The web pages that may call the engine besides its own (the Origin header), each with its scheme, "
        "host and port.",
    )
    store_url: StoreUrl = Field(
        SecretStr(""),
        description="The PostgreSQL database that the base is kept in, instead of in the data directory: many engines "
        "and workers can share it. It needs `pip install 'kb-local[postgres]'`; docs/how-to/scale-out.md says more.",
    )
    originals_url: BucketUrl = Field(
        "",
        description="Where the original files are kept instead of in the data directory: in a bucket of an S3 server, "
        "which engines and workers on many hosts can share. It needs `pip install 'kb-local[s3]'`.",
    )
    s3_endpoint: EndpointUrl = Field(
        "", description="The address of the S3 server. What goes to one with http:// is not encrypted on its way."
    )
    s3_region: Region = Field("us-east-1", description="The region of the bucket.")
    s3_access_key: Secret = Field(
        SecretStr(""),
        description="The name of the key to the bucket. It needs `KB_S3_SECRET_KEY`. Without both, the role is used "
        "that AWS has given the machine.",
    )
    s3_secret_key: Secret = Field(SecretStr(""), description="The key to the bucket.")
    embedding_model: Model = Field("", description="The model that turns text into vectors.")
    device: Device = Field(
        "auto",
        description="What the model computes on. `auto` is a graphics processor if there is one that can be used, "
        "and else the processor. For one, `pip install 'kb-local[gpu]'`; docs/how-to/use-a-gpu.md says more.",
    )
    max_file_mb: Megabytes = Field(100, description="The largest file that is accepted, in MB of 1,048,576 bytes.")
    log_format: LogFormat = Field("text", description=_LOG_FORMAT_MEANING)
    insecure: Switch = Field(default=False, description=_INSECURE_MEANING)

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        _check_keys("KB_API_KEY", self.api_key, self.api_key_readonly)
        if bool(self.s3_access_key.get_secret_value()) != bool(self.s3_secret_key.get_secret_value()):
            raise ValueError("Of KB_S3_ACCESS_KEY and KB_S3_SECRET_KEY only one is set. Set both, or none.")
        return self

    @property
    def max_file_bytes(self) -> int:
        return self.max_file_mb * BYTES_PER_MB

    @property
    def accepted_hosts(self) -> tuple[str, ...]:
        return _with_own_address(self.allowed_hosts, self.host)

    def refuse_public_without_key(self) -> None:
        """Raise `SettingsError` if the engine would be open to other machines and nobody said that it may be."""
        _refuse_public_without_key("KB_HOST", self.host, "KB_API_KEY", self.api_key, insecure=self.insecure)


class McpSettings(ProgramSettings):
    program = "mcp"

    mcp_host: Host = Field("127.0.0.1", description="The address on which the MCP server listens.")
    mcp_port: Port = Field(3000, description="The port on which the MCP server listens.")
    mcp_api_key: Key = Field(
        SecretStr(""),
        description="The key that agents must present. It has nothing to do with `KB_API_KEY`, which agents never "
        "see. Without it the server is open to every program on the machine. Of several keys, on a line each, it takes "
        "any.",
    )
    mcp_api_key_readonly: Key = Field(
        SecretStr(""), description="A second key for agents, which can only read. It needs `KB_MCP_API_KEY`."
    )
    mcp_allowed_hosts: Names = Field(
        LOOPBACK_NAMES,
        description="The names under which the MCP server may be called (the Host header); the address in "
        "`KB_MCP_HOST` is always one of them.",
    )
    mcp_allowed_origins: Origins = Field(
        (),
        description="The web pages that may call the MCP server (the Origin header), each with its scheme, host and "
        "port.",
    )
    mcp_toolsets: Toolsets = Field(("kb", "knowledge"), description="The tools that agents are offered.")
    mcp_collections: Collections = Field(
        ("documents", "memory", "workspace"),
        description="The collections that the toolset `kb-collections` knows. What is added without one goes to "
        "`documents`, or to the first if that is not among them.",
    )
    mcp_file_roots: Folders = Field(
        default_factory=default_file_roots,
        description="The folders of the MCP server's machine from which `knowledge-add` may read. It never reads "
        "hidden files, files in hidden folders below them, or kb's own files: keys, `kb.toml`, the data directory.",
    )
    mcp_upload_ttl_seconds: Seconds = Field(
        600, description="How long after its last chunk an upload that nobody finished is removed."
    )
    engine_url: EngineUrl = Field(description=_ENGINE_URL_MEANING)
    api_key: Key = Field(SecretStr(""), description=_API_KEY_MEANING)
    log_format: LogFormat = Field("text", description=_LOG_FORMAT_MEANING)
    insecure: Switch = Field(default=False, description=_INSECURE_MEANING)

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        _check_keys("KB_MCP_API_KEY", self.mcp_api_key, self.mcp_api_key_readonly)
        return self

    @property
    def accepted_hosts(self) -> tuple[str, ...]:
        return _with_own_address(self.mcp_allowed_hosts, self.mcp_host)

    def refuse_public_without_key(self) -> None:
        """As for the engine."""
        _refuse_public_without_key(
            "KB_MCP_HOST", self.mcp_host, "KB_MCP_API_KEY", self.mcp_api_key, insecure=self.insecure
        )


class ClientSettings(ProgramSettings):
    program = "client"

    engine_url: EngineUrl = Field(description=_ENGINE_URL_MEANING)
    api_key: Key = Field(SecretStr(""), description=_API_KEY_MEANING)


PROGRAMS: tuple[type[ProgramSettings], ...] = (EngineSettings, McpSettings, ClientSettings)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _check_keys(variable: str, writing: SecretStr, reading: SecretStr) -> None:
    if not reading.get_secret_value():
        return
    if not writing.get_secret_value():
        raise ValueError(f"{variable}_READONLY needs {variable}: without it anyone can write. Set both.")
    if set(every_key(reading)) & set(every_key(writing)):
        raise ValueError(f"{variable}_READONLY and {variable} are the same. Give each its own value.")


def _with_own_address(names: tuple[str, ...], host: str) -> tuple[str, ...]:
    if host in {"0.0.0.0", "::"}:  # noqa: S104  compared, not listened on
        return names
    own = f"[{host}]" if ":" in host else host
    return tuple(dict.fromkeys((*names, own)))


def _refuse_public_without_key(
    host_variable: str, host: str, key_variable: str, key: SecretStr, *, insecure: bool
) -> None:
    if is_loopback(host) or key.get_secret_value() or insecure:
        return
    raise SettingsError(
        f"{host_variable} is {host}, which other machines can reach, and no key is set: anyone could read "
        f"and change everything. Set {key_variable} (or {key_variable}_FILE), or KB_INSECURE=true if you mean it."
    )

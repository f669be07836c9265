"""What `compose.yaml` and the Dockerfiles say, as the tests of them need it. Nothing is started."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from kb.settings import EngineSettings, McpSettings, read_settings

ROOT = Path(__file__).parents[2]

Service: TypeAlias = dict[str, Any]  # Any: YAML
Steps: TypeAlias = list[tuple[str, str]]


def read_compose(given: Mapping[str, str] = {}) -> dict[str, Any]:
    """As somebody gets it who has set these variables: any other `${NAME:-default}` is its default."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    filled = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: given.get(match[1], match[2]), text)
    compose: dict[str, Any] = yaml.safe_load(filled)
    return compose


SERVICES: dict[str, Service] = read_compose()["services"]
# Those of the profile that takes the place of the others.
SCALED = {name: service for name, service in SERVICES.items() if service.get("profiles") == ["scale"]}
# Those that run kb, and not the server of somebody else.
PROGRAMS = {name: service for name, service in SERVICES.items() if "build" in service}


def read_stages(dockerfile: Path) -> dict[str, Steps]:
    """The instructions of each stage, after those of the stage that it starts from."""
    text = re.sub(r"^#.*\n", "", dockerfile.read_text(encoding="utf-8"), flags=re.MULTILINE)
    stages: dict[str, Steps] = {}
    name = ""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            origin, _, name = rest.partition(" AS ")
            stages[name] = list(stages.get(origin, []))
        elif line:
            stages[name].append((instruction, rest))
    return stages


def steps_of(service: Service) -> Steps:
    return read_stages(ROOT / service["build"]["dockerfile"])[service["build"]["target"]]


def last_of(instruction: str, steps: Steps) -> str:
    return [rest for name, rest in steps if name == instruction][-1]


def environment_of(name: str, given: Mapping[str, str]) -> dict[str, str]:
    """What the program sees: the values that stand there, and of those without one the values that are given."""
    named: dict[str, str | None] = read_compose(given)["services"][name]["environment"]
    values = {name: given.get(name) if value is None else value for name, value in named.items()}
    return {name: value for name, value in values.items() if value is not None}


def engine_settings(name: str, folder: Path, given: Mapping[str, str] = {}) -> EngineSettings:
    return read_settings(EngineSettings, {}, environment_of(name, given), folder)


def mcp_settings(folder: Path, given: Mapping[str, str] = {}, *, name: str = "mcp") -> McpSettings:
    return read_settings(McpSettings, {}, environment_of(name, given), folder)

"""What is told of the things kb is made of must be all of it: `deploy/sbom.py` against the locks."""

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from deploy.sbom import describe
from packaging.specifiers import SpecifierSet

COMPONENTS = describe()["components"]
ROOT = Path(__file__).parents[2]
LOCKS = [(ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-dev.lock")]

# Permissive, but for the last: it asks only that changes to its own files be published, and kb changes none.
LICENCES = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|PSF-2\.0|Zlib|CC0-1\.0|any-OSI|blessing|MPL-2\.0|Mozilla|Python Software Foundation)\b"
)
# Not permissive, and used as they come, from the package index: docs/decisions/0036.
LIBRARIES = {"psycopg", "psycopg-binary", "psycopg-pool"}
# They build the package, and are not installed where it is not built.
BUILDERS = {"hatchling", "tomlkit", "trove-classifiers"}


def test_every_pinned_package_is_told_with_its_version_and_every_digest() -> None:
    told = [part for part in COMPONENTS if "purl" in part]
    pinned = {one for lock in LOCKS for one in re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE)}

    assert sorted((part["name"], part["version"]) for part in told) == sorted(pinned)
    digests = {digest["content"] for part in told for digest in part["hashes"]}
    assert digests == {digest for lock in LOCKS for digest in re.findall(r"--hash=sha256:(\w+)", lock)}


def test_every_pinned_package_takes_the_oldest_python_that_kb_takes() -> None:
    """A machine with that very one installs what stands in the locks, or nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=") + ".0"
    wanted = {one.name: ",".join(one.metadata.get_all("Requires-Python") or []) for one in distributions()}

    refusing = {name: versions for name, versions in wanted.items() if oldest not in SpecifierSet(versions)}

    assert refusing == {}


def test_every_licence_is_known_and_permissive() -> None:
    for part in COMPONENTS:
        (licence,) = part["licenses"]
        told = licence.get("expression") or licence["license"]["name"]
        if part["name"] in LIBRARIES:
            assert "LGPL" in told
            continue
        assert LICENCES.search(told) or part["name"] in BUILDERS, f"{part['name']}: {told}"
        assert "GPL" not in told


def test_models_and_libraries_inside_wheels_are_told() -> None:
    inside = {inner["name"]: inner for part in COMPONENTS for inner in part.get("components", [])}

    assert {"sqlite", "pdfium", "libxml2", "model.safetensors", "PP-OCRv6_det_small.onnx"} <= inside.keys()
    assert all(len(part["hashes"]) == 1 for part in inside.values() if part["type"] == "file")

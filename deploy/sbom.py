"""What kb is made of, as a CycloneDX document on standard output: `make audit`.

Every package of the two locks with its licence and the digests that an installation may have; below it what it
brings along in other languages; and the models. The same code gives the same document: it holds no time.
"""

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import apsw
from lxml import etree
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pypdfium2.version import PDFIUM_INFO

from kb.engine.embedding.bundled_model import BUNDLED_MODEL, PINNED_SHA256
from kb.engine.ingestion.extraction.ocr.models import DETECTION, RECOGNITION
from kb.version import VERSION

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-dev.lock")
# As their files say, whose metadata say nothing.
LICENCES = {"resvg-py": "MIT", "editables": "MIT"}
Component: TypeAlias = dict[str, Any]  # Any: JSON


def describe() -> Component:
    needed = _find_needed()
    packages = [_describe_package(name, *pinned, needed) for name, pinned in sorted(_read_locks().items())]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _library("kb-local", VERSION, "Apache-2.0") | {"type": "application"}},
        "components": [*packages, *_describe_models()],
    }


def _read_locks() -> dict[str, tuple[str, list[str]]]:
    """Version and digests of each package; where both locks have one, they agree: the second is bound by the first."""
    locks = "".join((ROOT / name).read_text(encoding="utf-8") for name in LOCKS)
    pinned = re.findall(r"^([\w.-]+)==(\S+).*((?:\\\n    --hash=\S+ ?)+)", locks, re.MULTILINE)
    return {name: (version, re.findall(r"sha256:([0-9a-f]{64})", rest)) for name, version, rest in pinned}


def _describe_package(name: str, version: str, digests: list[str], needed: set[str]) -> Component:
    package = _library(name, version, _find_licence(name))
    package["purl"] = package["bom-ref"] = f"pkg:pypi/{name}@{version}"
    package["scope"] = "required" if name in needed else "excluded"
    package["hashes"] = [_sha256(digest) for digest in digests]
    inside = [_library(*part) for owner, *part in _brought_along() if owner == name]
    return {**package, "components": inside} if inside else package


def _brought_along() -> list[tuple[str, str, str, str]]:
    """What is inside the wheels and can be hurt by a file: owner, name, version, licence."""
    libxml2, libxslt = (".".join(map(str, version)) for version in (etree.LIBXML_VERSION, etree.LIBXSLT_VERSION))
    return [
        ("apsw", "sqlite", apsw.sqlite_lib_version(), "blessing"),
        ("lxml", "libxml2", libxml2, "MIT"),
        ("lxml", "libxslt", libxslt, "MIT"),
        ("pypdfium2", "pdfium", str(PDFIUM_INFO), "BSD-3-Clause AND Apache-2.0"),
    ]


def _describe_models() -> Iterator[Component]:
    package = find_spec("rapidocr")
    if package is None or package.origin is None:
        raise FileNotFoundError("rapidocr")
    folder = Path(package.origin).parent / "models"
    recognising = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (DETECTION, RECOGNITION)}
    for model, files in ((BUNDLED_MODEL, PINNED_SHA256), ("PP-OCRv6 small", recognising)):
        parts = [{"type": "file", "name": name, "hashes": [_sha256(digest)]} for name, digest in files.items()]
        yield _library(model, None, "Apache-2.0") | {"type": "machine-learning-model", "components": parts}


def _library(name: str, version: str | None, licence: str) -> Component:
    # An expression of SPDX has no two words in a row.
    is_expression = not re.search(r" (?!AND |OR )(?<!AND )(?<!OR )", licence)
    licenses = [{"expression": licence}] if is_expression else [{"license": {"name": licence}}]
    described = {"type": "library", "name": name, "licenses": licenses}
    return described if version is None else {**described, "version": version}


def _sha256(digest: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": digest}


def _find_licence(name: str) -> str:
    try:
        told = distribution(name).metadata
    except PackageNotFoundError:
        # Only what builds the package may be missing where it is not built.
        return LICENCES.get(name, "NOASSERTION")
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in told.get_all("Classifier") or []
        if line.startswith("License :: OSI Approved :: ")
    ]
    licence = told.get_all("License") or [""]
    given = [*(told.get_all("License-Expression") or []), *classifiers, LICENCES.get(name), *licence[0].splitlines()]
    return next(filter(None, given), "NOASSERTION")


def _find_needed() -> set[str]:
    """The packages that a user gets; the others are for development."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    chosen = (project["optional-dependencies"][extra] for extra in ("engine", "mcp", "postgres", "s3"))
    lines = [*project["dependencies"], *chain(*chosen)]
    waiting, needed = list(map(Requirement, lines)), set[str]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        if name in needed:
            continue
        needed.add(name)
        further = map(Requirement, distribution(name).requires or [])
        waiting += [one for one in further if not one.marker or any(one.marker.evaluate({"extra": e}) for e in extras)]
    return needed


if __name__ == "__main__":
    sys.stdout.write(json.dumps(describe(), indent=2) + "\n")

"""The web page: files that stand in the package, served as they are.

They hold nothing of the base, so they need no key; whatever they show, they ask for under /api/. The policy lets them
run their own scripts and styles, speak to their own engine, and nothing else. Strings never become markup: with trusted
types and no policy to make them, the browser refuses every such call.

The page is a hundred modules. Each engine reads them once, and their address has a digest of all of them, so that a
browser keeps them for good and never runs those of two versions together. Only `/` is asked for each time, also when
somebody comes back to it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from posixpath import dirname, join, normpath

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from kb import sample

# What is served, by the folder that it is below: the page's own files, and the documents that it offers to try.
FOLDERS = {"": Path(__file__).parents[1] / "web", "sample/": sample.FOLDER}
FIRST_NEEDED = ("app.js", "views/search/search.js")

PAGE_HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            # Pictures are fetched with the key in a header, and then shown from memory.
            "img-src 'self' blob:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# Not as the machine has it: some call a script plain text, and a browser then does not run it.
MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
}
# Not "no-cache": what is only to be asked about is shown unasked by Back.
ASKED_FOR_EACH_TIME = {**PAGE_HEADERS, "Cache-Control": "no-store"}
KEPT_FOR_GOOD = {**PAGE_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}


def add_page(app: FastAPI) -> None:
    files = _read_files()
    place = f"/web/{_digest(files)}"
    page = Response(_name_modules(files, place), media_type="text/html", headers=ASKED_FOR_EACH_TIME)
    served = {
        name: Response(content, media_type=MEDIA_TYPES[Path(name).suffix], headers=KEPT_FOR_GOOD)
        for name, content in files.items()
        if name != "index.html"
    }

    async def show_page(request: Request) -> Response:
        return page

    async def show_file(request: Request) -> Response:
        file = served.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        return file

    app.add_route("/", show_page, methods=["GET"], include_in_schema=False)
    app.add_route(f"{place}/{{name:path}}", show_file, methods=["GET"], include_in_schema=False)


def _read_files() -> dict[str, bytes]:
    """Those of the page: an editor or a file manager may have left others beside them."""
    return {
        f"{below}{path.relative_to(folder).as_posix()}": path.read_bytes()
        for below, folder in FOLDERS.items()
        for path in sorted(folder.rglob("[!.]*"))
        if path.suffix in MEDIA_TYPES and path.is_file()
    }


def _digest(files: Mapping[str, bytes]) -> str:
    # What they are served with is kept with them.
    digest = hashlib.sha256(repr((MEDIA_TYPES, KEPT_FOR_GOOD)).encode())
    for name, content in files.items():
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _name_modules(files: Mapping[str, bytes], place: str) -> str:
    """The page, with the modules named that it needs to be seen: found in one another, they take round after round."""
    modules = [f'  <link rel="modulepreload" href="/web/{name}">' for name in sorted(_reach(files, FIRST_NEEDED))]
    page = files["index.html"].decode().replace("</head>", "\n".join([*modules, "</head>"]))
    return page.replace('"/web/', f'"{place}/')


def _reach(files: Mapping[str, bytes], names: Iterable[str]) -> set[str]:
    """These modules and all that they import, those of views that are loaded on demand left out."""
    reached, ahead = set[str](), list(names)
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            imported = re.findall(r'^(?:import|export) .*from "(\.[^"]+)"', files[name].decode(), re.MULTILINE)
            ahead += [normpath(join(dirname(name), path)) for path in imported]
    return reached

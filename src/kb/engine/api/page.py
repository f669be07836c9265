"""The web page: files that stand in the package, served as they are.

They hold nothing of the base, so they need no key; whatever they show, they ask for under /api/. The policy lets them
run their own scripts and styles, speak to their own engine, and nothing else. Strings never become markup: with trusted
types and no policy to make them, the browser refuses every such call.
"""

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parents[1] / "web"

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
    # Asked for each time, and then usually not sent: the page never runs scripts of two versions.
    "Cache-Control": "no-cache",
}


class PageFiles(StaticFiles):
    def file_response(self, *arguments: Any, **options: Any) -> Response:  # Any: as the framework calls it
        response = super().file_response(*arguments, **options)
        response.headers.update(PAGE_HEADERS)
        return response


async def show_page(request: Request) -> Response:
    return FileResponse(FOLDER / "index.html", headers=PAGE_HEADERS)


def add_page(app: FastAPI) -> None:
    app.add_route("/", show_page, methods=["GET"], include_in_schema=False)
    app.mount("/web", PageFiles(directory=FOLDER))

"""Things dragged onto a page and pasted into it, as the browser would tell the page of them."""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path

from playwright.sync_api import JSHandle, Page

TRANSFER = """(files) => {
  const transfer = new DataTransfer();
  for (const [name, content] of files) {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
    transfer.items.add(new File([bytes], name, { type: name.endsWith(".png") ? "image/png" : "" }));
  }
  return transfer;
}"""

# What is made by a script has files, but no folders: these look to the page like those of a file manager.
FOLDER = """(tree) => {
  const entryOf = (name, content, path) => typeof content === "string"
    ? { name, fullPath: path, isFile: true, file: (take) => take(new File([content], name)) }
    : { name, fullPath: path, isFile: false, createReader: () => readerOf(content, path) };
  const readerOf = (content, path) => {
    const rest = Object.entries(content).map(([name, inner]) => entryOf(name, inner, `${path}/${name}`));
    // As browsers do, it tells of some at a time.
    return { readEntries: (take) => take(rest.splice(0, 2)) };
  };
  const transfer = new DataTransfer();
  const entries = Object.entries(tree).map(([name, content]) => entryOf(name, content, `/${name}`));
  for (const { name } of entries) transfer.items.add(new File(["a folder"], name));
  DataTransferItem.prototype.webkitGetAsEntry = () => entries.shift();
  return transfer;
}"""

Folder = Mapping[str, "str | Folder"]


def files_of(paths: Iterable[Path]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths}


def drag_files(page: Page, files: Mapping[str, bytes]) -> JSHandle:
    """Over the page, but not let go of yet."""
    transfer = _transfer(page, files)
    page.dispatch_event("main", "dragenter", {"dataTransfer": transfer})
    return transfer


def drop(page: Page, transfer: JSHandle) -> None:
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})


def drop_files(page: Page, files: Mapping[str, bytes]) -> None:
    drop(page, drag_files(page, files))


def drop_folder(page: Page, tree: Folder) -> None:
    """Names and contents; what stands at the top are folders and files side by side."""
    drop(page, page.evaluate_handle(FOLDER, tree))


def drop_text(page: Page, text: str) -> None:
    drop(page, _text(page, text))


def paste_files(page: Page, files: Mapping[str, bytes]) -> None:
    page.evaluate(PASTE, _transfer(page, files))


def paste_text(page: Page, text: str) -> None:
    page.evaluate(PASTE, _text(page, text))


PASTE = """(clipboardData) => document.activeElement.dispatchEvent(
  new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))"""


def _transfer(page: Page, files: Mapping[str, bytes]) -> JSHandle:
    return page.evaluate_handle(TRANSFER, [[name, base64.b64encode(held).decode()] for name, held in files.items()])


def _text(page: Page, text: str) -> JSHandle:
    script = "(text) => { const transfer = new DataTransfer(); transfer.setData('text/plain', text); return transfer; }"
    return page.evaluate_handle(script, text)

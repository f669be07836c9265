from pathlib import Path


def write_pdf(folder: Path, *objects: str) -> Path:
    """A file of the given objects, the first of them its root, as only a hostile or a hasty program would write it."""
    numbered = "\n".join(f"{number} 0 obj {body} endobj" for number, body in enumerate(objects, 1))
    path = folder / "written.pdf"
    path.write_text(f"%PDF-1.4\n{numbered}\ntrailer <</Root 1 0 R>>\n%%EOF")
    return path

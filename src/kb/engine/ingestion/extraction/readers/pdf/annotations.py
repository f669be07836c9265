"""What was written on a PDF's page afterwards: notes, comments, text boxes, and the values of form fields."""

import ctypes
from collections.abc import Callable
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from kb.engine.ingestion.extraction.readers.pdf.text import lay_out

# A link shows nothing, and a pop-up only what the note that it belongs to says.
_SILENT = (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP)
_FIELDS_WITH_TEXT = (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_UNSEEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW


def read_annotations(page: pdfium.PdfPage) -> str:
    """One paragraph with a line for each, in the page's order; a field that has a label is "label: value"."""
    texts: dict[str, None] = {}
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            texts[_read_text(annotation, page.formenv)] = None
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return "\n".join(text for text in texts if text)


def _read_text(annotation: Any, form: Any) -> str:
    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if kind in _SILENT or raw.FPDFAnnot_GetFlags(annotation) & _UNSEEN:
        return ""
    if kind != raw.FPDF_ANNOT_WIDGET:
        return _read_string(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
    if form is None or raw.FPDFAnnot_GetFormFieldType(form, annotation) not in _FIELDS_WITH_TEXT:
        return ""
    if raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & raw.FPDF_FORMFLAG_TEXT_PASSWORD:
        return ""
    value = _read_string(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    # The field's other name, the one it is addressed by, is for programs ("topmostSubform[0].f1_01[0]").
    label = _read_string(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    return f"{label}: {value}" if label and value else value


def _read_string(function: Callable[..., int], *arguments: Any) -> str:
    size = function(*arguments, None, 0)
    buffer = (ctypes.c_ushort * (size // 2))()
    function(*arguments, buffer, size)
    return lay_out(bytes(buffer).decode("utf-16-le", errors="ignore").rstrip("\0"))

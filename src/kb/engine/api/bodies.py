"""The JSON that the engine takes."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from kb.control_characters import without_control_characters
from kb.engine.api.parameters import NO_NUL, NOT_BLANK
from kb.engine.model import Scope
from kb.engine.model.limits import (
    MAX_GIVEN_TITLE_CHARACTERS,
    MAX_METADATA_BYTES,
    MAX_METADATA_DEPTH,
    MAX_SOURCE_PATH_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    count_metadata_bytes,
    is_deeper_than,
)
from kb.engine.search.hybrid import Grouping, Mode, SearchRequest

MAX_NOTE_CHARACTERS = 1_000_000
MAX_QUERY_CHARACTERS = 10_000
CONFIRMATION_PHRASE = "DELETE ALL"


def _require_storable_json(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """JSON that every reader of it can read: no NaN, no half of a surrogate pair, not too large or deep."""
    if is_deeper_than(MAX_METADATA_DEPTH, value):
        raise ValueError(f"must be nested at most {MAX_METADATA_DEPTH} deep")
    try:
        size = count_metadata_bytes(value)
    except (ValueError, RecursionError) as error:
        raise ValueError("must be JSON without NaN, infinity or unpaired surrogates") from error
    if size > MAX_METADATA_BYTES:
        raise ValueError(f"must be at most {MAX_METADATA_BYTES} bytes of JSON")
    return value


def _parse_day(value: object) -> date | None:
    """A day as RFC 3339 writes it, and no time, number or other form that could be taken for one."""
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError("must be a day such as 2026-03-31")
    return date.fromisoformat(value)


def _take_whole_number(value: object) -> object:
    """In JSON 10 and 10.0 are the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _take_shown(title: object) -> object:
    """The title without control characters. A title that has only control characters becomes blank."""
    if not isinstance(title, str) or not title:
        return title
    return without_control_characters(title) or " "


Whole = BeforeValidator(_take_whole_number)
Text = Annotated[str, Field(min_length=1, max_length=MAX_NOTE_CHARACTERS, pattern=NOT_BLANK)]
# Only titles lose control characters. Clients find documents by tags and source paths, so those are not changed.
Shown = BeforeValidator(_take_shown)
Title = Annotated[str, Field(min_length=1, max_length=MAX_GIVEN_TITLE_CHARACTERS, pattern=NOT_BLANK), Shown]
Tag = Annotated[str, Field(min_length=1, max_length=MAX_TAG_CHARACTERS, pattern=NOT_BLANK), AfterValidator(str.strip)]
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS)]
# Each is a condition of its own, and SQL takes no more than a thousand of those.
WantedTags = Annotated[list[Tag], Field(max_length=100)]
SourcePath = Annotated[str, Field(min_length=1, max_length=MAX_SOURCE_PATH_CHARACTERS, pattern=NO_NUL)]
Metadata = Annotated[dict[str, Any], AfterValidator(_require_storable_json)]
Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
MetadataKey = Annotated[str, Field(max_length=4096)]
MetadataValue = Annotated[str, Field(max_length=4096, pattern=NO_NUL)] | bool | Integer | Number | None
Day = Annotated[date | None, BeforeValidator(_parse_day)]


class RequestBody(BaseModel):
    """Whatever is misspelt or mistyped is refused, never guessed at."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NoteBody(RequestBody):
    type: Literal["note"]
    text: Text
    title: Title | None = None
    tags: Tags = []
    source_path: SourcePath | None = None
    metadata: Metadata = {}


class FileFields(RequestBody):
    """The fields of a form that stand beside its `file`."""

    title: Title | None = None
    tags: Tags = []
    source_path: SourcePath | None = None
    metadata: Metadata = {}
    force_ocr: bool = False


class NoteChangeBody(RequestBody):
    text: Text
    title: Title | None = None
    tags: Tags | None = None


class RevertBody(RequestBody):
    version: Annotated[int, Field(ge=1, le=2**53), Whole]


class DocumentChangeBody(RequestBody):
    title: Title | None = None
    metadata: Metadata | None = None
    source_path: SourcePath | None = None


class TagsBody(RequestBody):
    tags: Tags


class TagChangeBody(RequestBody):
    add: Tags = []
    remove: Tags = []


class ClearBody(RequestBody):
    confirm: bool
    confirmation_phrase: str


class DateRange(RequestBody):
    start: Day = None
    end: Day = None


class Filters(RequestBody):
    format: Annotated[str, Field(min_length=1, max_length=20, pattern=NO_NUL)] | None = None
    doc_type: Annotated[str, Field(min_length=1, max_length=20, pattern=NO_NUL)] | None = None
    date_range: DateRange | None = None
    source_path: SourcePath | None = None
    metadata: Annotated[dict[MetadataKey, MetadataValue], Field(max_length=100)] | None = None


def _both(first: dict[str, JsonValue], second: dict[str, JsonValue]) -> JsonValue:
    properties = {**first, **second}
    return {"properties": properties, "required": [*properties]}


_FTS_ONLY: dict[str, JsonValue] = {"fts_only": {"const": True}}
_VEC_ONLY: dict[str, JsonValue] = {"vec_only": {"const": True}}
CONTRADICTIONS: list[JsonValue] = [
    _both(_FTS_ONLY, _VEC_ONLY),
    _both(_FTS_ONLY, {"mode": {"enum": ["hybrid", "vector"]}}),
    _both(_VEC_ONLY, {"mode": {"enum": ["hybrid", "fts"]}}),
]


class SearchBody(RequestBody):
    model_config = ConfigDict(json_schema_extra={"not": {"anyOf": CONTRADICTIONS}})

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS, pattern=NOT_BLANK)]
    top: Annotated[int, Field(ge=1, le=200), Whole] = 10
    offset: Annotated[int, Field(ge=0, le=10_000), Whole] = 0
    mode: Literal["hybrid", "fts", "vector"] | None = None
    fts_only: bool = False
    vec_only: bool = False
    tags: WantedTags = []
    filters: Filters = Filters()
    min_relevance: Annotated[float, Field(ge=0, le=1)] = 0.0
    group_by: Literal["chunk", "document"] = "chunk"
    complete_last_word: bool = False

    @model_validator(mode="after")
    def _require_one_mode(self) -> Self:
        if len(self._modes()) > 1:
            raise ValueError("mode, fts_only and vec_only contradict one another")
        return self

    def _modes(self) -> set[str]:
        given = {self.mode} if self.mode else set[str]()
        return given | ({"fts"} if self.fts_only else set()) | ({"vector"} if self.vec_only else set())

    def to_request(self) -> SearchRequest:
        filters = self.filters
        days = filters.date_range or DateRange()
        return SearchRequest(
            query=self.query,
            scope=Scope(
                tags=tuple(self.tags),
                format=filters.format,
                doc_type=filters.doc_type,
                source_path=filters.source_path,
                created_from=days.start,
                created_to=days.end,
                metadata=filters.metadata or {},
            ),
            mode=Mode(next(iter(self._modes()), "hybrid")),
            top=self.top,
            offset=self.offset,
            min_relevance=self.min_relevance,
            group_by=Grouping(self.group_by),
            complete_last_word=self.complete_last_word,
        )

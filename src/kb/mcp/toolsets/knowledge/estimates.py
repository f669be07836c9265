"""How long a file will take, roughly: an agent looks again when it may be done, not every second."""

from pathlib import PurePath

from kb.sizes import BYTES_PER_MB

LEAST_SECONDS = 1
PICTURE_SECONDS = 5
# On two cores. Of plain text every byte is indexed; of other files most are pictures, fonts and markup.
TEXT_SECONDS_PER_MB = 25
OTHER_SECONDS_PER_MB = 8

_PICTURES = frozenset({".jpg", ".jpeg", ".png", ".webp"})
_TEXTS = frozenset({".csv", ".json", ".md", ".txt"})
# Of a file whose size nobody knows any more.
TYPICAL_BYTES = BYTES_PER_MB // 2


def estimate_seconds(filename: str, size_bytes: int = TYPICAL_BYTES) -> int:
    extension = PurePath(filename).suffix.lower()
    if extension in _PICTURES:
        return PICTURE_SECONDS
    seconds_per_mb = TEXT_SECONDS_PER_MB if extension in _TEXTS else OTHER_SECONDS_PER_MB
    return max(LEAST_SECONDS, round(size_bytes / BYTES_PER_MB * seconds_per_mb))

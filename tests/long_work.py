"""What keeps a worker busy for longer than a test looks at it, on however fast a machine; to be cancelled then."""

# About a minute's work where two cores are at it. A file: a note may have its first million characters.
LONG_TEXT = " ".join(f"Sentence {number} tells of harbour crane {number * 7}." for number in range(60_000))

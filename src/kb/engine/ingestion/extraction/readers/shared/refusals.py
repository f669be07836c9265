"""What is said of files that cannot be read, in the same words for all formats."""

from kb.engine.errors import Unreadable

_LOCKED = "The file is protected by a password. Save a copy without the password and add that."


def corrupt(reason: str) -> Unreadable:
    """The reason is a whole sentence, such as "Its end is missing."; what to do follows it."""
    return Unreadable(
        "corrupt_file",
        f"The file is damaged. {reason} Open it in the program that it comes from, save it again, and add that.",
    )


def encrypted(explanation: str = _LOCKED) -> Unreadable:
    """An explanation of its own is for what no password opens; it says what to do, too."""
    return Unreadable("encrypted_file", explanation)

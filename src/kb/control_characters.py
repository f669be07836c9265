"""Characters that control a terminal or the direction of text. They are invisible and part of no word.

They are DEL, C1, the line separators of Unicode, and the marks that change the direction of the text after them,
which can make one name look like another. The joiners U+200C and U+200D are not among them, because Persian and emoji
need them.
"""

import re

CONTROL_CHARACTERS = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Without C0 (U+0000 to U+001F), which includes line ends and tabs: each caller decides about those."""


def without_control_characters(text: str) -> str:
    return CONTROL_CHARACTERS.sub("", text)

"""A few documents of a community garden, written for kb, to try it with: the page offers them, and `kb demo` adds them.

`index.json` has their tags, three searches to try, and the place that they are said to come from. By that they are told
from what a user adds, even if it is a copy of one of them.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"
TAG = "sample"

"""A few documents of a community garden, written for kb, to try it with: the page offers them, and `kb demo` adds them.

`index.json` has their tags, three searches to try, and by what they are told from what is a user's: the place that they
are said to come from, and the hash of each. What somebody has changed since, or has had before, is theirs.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"
TAG = "sample"

"""A few documents of a community garden, written for kb, to try it with: the page offers them, and `kb demo` adds them.

`index.json` has their tags, what marks them as the sample's, and three searches to try.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"
TAG = "sample"

"""What a model wants put in front of a query and of a passage, so that it knows which of them it is given."""

from dataclasses import dataclass
from pathlib import Path

from kb.engine.embedding.config_files import read_json
from kb.engine.embedding.modules import tokenizer_file

PROMPTS_FILE = "config_sentence_transformers.json"
# The first of these that says anything is for what a search is to find.
_FOR_PASSAGES = ("document", "passage", "corpus")


@dataclass(frozen=True)
class Prompts:
    query: str = ""
    passage: str = ""


def read_prompts(folder: Path) -> Prompts:
    told = (read_json(folder / PROMPTS_FILE) or {}).get("prompts") or {}
    return Prompts(told.get("query") or "", next(filter(None, map(told.get, _FOR_PASSAGES)), ""))


def count_prompt_tokens(folder: Path) -> int:
    """How much of the window is taken by what stands in front of each passage."""
    prompt = read_prompts(folder).passage
    if not prompt:
        return 0
    # Imported here because few models have any.
    from kb.engine.embedding.tokenizing import find_token_spans, open_tokenizer

    return len(find_token_spans(open_tokenizer(tokenizer_file(folder)), prompt))

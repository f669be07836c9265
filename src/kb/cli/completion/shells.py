"""How each shell asks what could be typed next, and how it wants to be answered.

The shell calls `kb completion SHELL -- ...` with what is on its line. zsh and fish hand over words, without their
quotes, and quote what they insert. bash hands over the line as it stands and inserts what it gets as it is: it is
split here, and what is offered to bash is quoted here. bash also begins a new word after characters such as `:`, which
tags are full of, and replaces only what comes after the last of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


SCRIPTS = {
    Shell.BASH: r"""
_kb_complete() {
    local offered
    COMPREPLY=()
    while IFS= read -r offered; do
        COMPREPLY+=("$offered")
    done < <("$1" completion bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}
complete -o bashdefault -o default -F _kb_complete kb
""",
    Shell.ZSH: r"""
#compdef kb
_kb() {
    local value meaning
    local -a values shown
    while IFS=$'\t' read -r value meaning; do
        values+=("$value")
        shown+=("$value${meaning:+  -- $meaning}")
    done < <("${words[1]}" completion zsh -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    if (( $#values )); then
        compadd -l -d shown -a values
    else
        _files
    fi
}
if [[ "$funcstack[1]" == _kb ]]; then
    _kb "$@"
else
    compdef _kb kb
fi
""",
    Shell.FISH: r"""
function __kb_complete
    set -l current (commandline -ct)
    # A quote that is still open is not part of the word.
    set -l word (string unescape -- "$current"; or string trim --left --chars "\"'" -- "$current")
    set -l offered (kb completion fish -- (commandline -opc) "$word" 2>/dev/null)
    if set -q offered[1]
        printf '%s\n' $offered
    else
        __fish_complete_path "$current"
    end
end
complete --command kb --no-files --arguments '(__kb_complete)'
""",
}

_TOKEN = re.compile(
    r"""'(?P<single>[^']*)(?P<single_end>'?)
    | "(?P<double>(?:[^"\\]|\\.)*)(?P<double_end>"?)
    | \\(?P<escaped>.?)
    | (?P<space>\s+)
    | (?P<plain>[^\s'"\\])""",
    re.VERBOSE | re.DOTALL,
)
_NEEDS_NO_QUOTING = re.compile(r"[\w@%+=:,./-]", re.ASCII)


@dataclass
class BashLine:
    """What stands on a line of bash up to the cursor."""

    words: list[str] = field(default_factory=list)
    """Those that are complete, without quotes."""
    incomplete: str = ""
    kept: int = 0
    """How many characters of the incomplete word bash will not replace."""
    quote: str = ""
    """The one that is still open."""

    def render(self, value: str) -> str:
        """What bash shall insert for it."""
        rest = value[self.kept :]
        if self.quote == "'":
            return rest.replace("'", r"'\''")
        if self.quote == '"':
            return re.sub(r'(["\\$`])', r"\\\1", rest)
        return "".join(one if _NEEDS_NO_QUOTING.match(one) or one.isalpha() else f"\\{one}" for one in rest)


def parse_bash_line(text: str, word_breaks: str) -> BashLine:
    line, is_word = BashLine(), False
    for token in _TOKEN.finditer(text):
        if token["space"] is not None:
            if is_word:
                line.words.append(line.incomplete)
            line.incomplete, line.kept, is_word = "", 0, False
            continue
        is_word = True
        _read_part(line, token, word_breaks)
    return line


def _read_part(line: BashLine, token: re.Match[str], word_breaks: str) -> None:
    """Of a word, which may be quoted in parts."""
    if token["plain"] is not None:
        line.incomplete += token["plain"]
        if token["plain"] in word_breaks:
            line.kept = len(line.incomplete)
        return
    for kind, quote in (("single", "'"), ("double", '"')):
        if token[kind] is not None and not token[f"{kind}_end"]:
            line.quote, line.kept = quote, len(line.incomplete)
    inner = token["single"] or token["escaped"] or re.sub(r'\\(["\\$`])', r"\1", token["double"] or "")
    line.incomplete += inner


def render_offers(offers: Iterable[tuple[str, str]]) -> list[str]:
    """One a line, with its meaning; what cannot stand on a line or on a screen is not offered."""
    lines = []
    for value, meaning in offers:
        if value.isprintable():
            told = "".join(one for one in " ".join(meaning.split()) if one.isprintable())
            lines.append(f"{value}\t{told}" if told else value)
    return lines


HOW_TO_KEEP = {
    Shell.BASH: "To have it always, put this line into ~/.bashrc:  source <(kb completion bash)",
    Shell.ZSH: "To have it always, put this line into ~/.zshrc, below compinit:  source <(kb completion zsh)",
    Shell.FISH: "To have it always:  kb completion fish > ~/.config/fish/completions/kb.fish",
}

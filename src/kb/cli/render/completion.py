"""What is told beside a shell's script."""

from kb.cli.completing.shells import Shell

HOW_TO_KEEP = {
    Shell.BASH: "To have it always, put this line into ~/.bashrc:  source <(kb completion bash)",
    Shell.ZSH: "To have it always, put this line into ~/.zshrc, below compinit:  source <(kb completion zsh)",
    Shell.FISH: "To have it always:  kb completion fish > ~/.config/fish/completions/kb.fish",
}

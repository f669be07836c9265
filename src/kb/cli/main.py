"""The `kb` command.

Commands import what they need when they run, not before: `kb --help` and the shell's completion then answer
at once. Words for people are in `render`, exit codes in `exits`.
"""

import sys
from io import TextIOWrapper

import typer

from kb.cli import adding, backups, bundles, documents, models, programs, searching
from kb.version import VERSION

app = typer.Typer(
    help="A knowledge base on your own machine, for you and your agents. Start it with `kb up`.",
    no_args_is_help=True,
    add_completion=False,
    # Panels would cost the import of rich before anything is done.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.command()(programs.up)
app.command()(programs.engine)
app.command()(programs.mcp)
app.command()(programs.worker)
app.command()(adding.add)
app.command()(adding.addnote)
app.command()(documents.updatenote)
# -word is a part of the query, not an option.
app.command(context_settings={"ignore_unknown_options": True})(searching.search)
app.command()(documents.get)
app.command()(documents.delete)
app.command()(searching.status)
app.command()(backups.backup)
app.command()(backups.restore)
app.command("export")(bundles.export_bundle)
app.command("import")(bundles.import_bundle)
app.add_typer(models.app, name="model")


@app.command()
def version() -> None:
    """Show the version of this program."""
    print(f"kb {VERSION}")


def main() -> None:
    # What kb prints is UTF-8, as files are, whatever the locale of a container or a cron job says.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    if any("\udc80" <= character <= "\udcff" for character in "".join(sys.argv)):
        sys.exit("kb: an argument is not UTF-8 text.")
    app(prog_name="kb")


if __name__ == "__main__":
    main()

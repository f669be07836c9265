"""The command `version`."""


def version() -> None:
    """Show the versions of this program and of the engine.

    $ kb version
    """
    from kb.version import VERSION

    print(f"kb {VERSION}")

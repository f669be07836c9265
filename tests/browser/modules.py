"""Modules of the page, called by tests as the page calls them."""


def with_modules(function: str) -> str:
    """Inside it `load("kit/diff.js")` gives a module of the page that is open: their address has a digest."""
    load = 'const load = (name) => import(new URL(name, document.querySelector("script").src));'
    return f"(argument) => {{ {load} return ({function})(argument); }}"

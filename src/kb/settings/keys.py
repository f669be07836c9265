"""The keys that stand in a secret: one on each line.

All of them open, and clients send the first. So a key is changed without a break: the new one is put above the old,
the programs are started again one by one, and then the old one is taken away.
"""

from pydantic import SecretStr


def every_key(secret: SecretStr) -> tuple[str, ...]:
    return tuple(secret.get_secret_value().split())


def present_key(secret: SecretStr) -> str:
    """The one to send; empty if there is none."""
    return next(iter(every_key(secret)), "")

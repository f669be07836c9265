"""How a client shows its key."""


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}

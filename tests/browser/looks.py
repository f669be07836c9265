"""What a person may have before them: light or dark, a desk or a phone, with motion or without."""

from dataclasses import dataclass
from typing import Literal

from playwright.sync_api import ViewportSize


@dataclass(frozen=True)
class Look:
    scheme: Literal["light", "dark"] = "light"
    motion: Literal["no-preference", "reduce"] = "no-preference"
    width: int = 1280
    height: int = 800
    is_phone: bool = False

    @property
    def viewport(self) -> ViewportSize:
        return {"width": self.width, "height": self.height}


LIGHT = Look()
DARK = Look(scheme="dark")
STILL = Look(motion="reduce")
PHONE = Look(width=390, height=844, is_phone=True)
DARK_PHONE = Look(scheme="dark", width=390, height=844, is_phone=True)

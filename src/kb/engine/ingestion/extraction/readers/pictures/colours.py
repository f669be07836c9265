"""The colours of a picture, in the words that people use for them."""

from collections import Counter
from colorsys import rgb_to_hls

from PIL import Image

_SAMPLES_A_SIDE = 128
_MOST = 5
_LEAST_SHARE = 0.08
_OPAQUE = 128

# Hues in degrees, each up to where the next begins.
_HUES = (
    (14, "red"),
    (42, "orange"),
    (67, "yellow"),
    (160, "green"),
    (190, "turquoise"),
    (255, "blue"),
    (290, "purple"),
    (342, "pink"),
    (360, "red"),
)
_DARK, _LIGHT = 0.28, 0.72


def name_colours(pixels: Image.Image) -> list[str]:
    """Those that cover the most of it, the largest first; none of what is transparent, and none if all are rare."""
    width, height = (min(side, _SAMPLES_A_SIDE) for side in pixels.size)
    # Samples, not means: a page of black letters is white and black, not grey.
    sampled = pixels.resize((width, height), Image.Resampling.NEAREST).convert("RGBA")
    counted: Counter[str] = Counter()
    for count, (red, green, blue, alpha) in sampled.getcolors(width * height) or ():  # type: ignore[misc] # four channels
        if alpha >= _OPAQUE:
            counted[name_colour(red, green, blue)] += count
    return [name for name, count in counted.most_common(_MOST) if count >= counted.total() * _LEAST_SHARE]


def name_colour(red: int, green: int, blue: int) -> str:
    """From three numbers up to 255, as on a screen."""
    hue, lightness, _ = rgb_to_hls(red / 255, green / 255, blue / 255)
    # The difference of the channels tells better than saturation how coloured the very dark and very light look.
    chroma = (max(red, green, blue) - min(red, green, blue)) / 255
    if lightness < 0.1:
        return "black"
    if chroma < 0.1:
        return "white" if lightness > 0.92 else _shade("grey", lightness)
    name = next(name for end, name in _HUES if hue * 360 < end or end == 360)
    return _as_people_say(name, lightness, chroma)


def _as_people_say(name: str, lightness: float, chroma: float) -> str:
    """Some shades have names of their own."""
    if name in ("orange", "yellow") and lightness > _LIGHT and chroma < 0.35:
        return "beige"
    if name == "orange" and (lightness < 0.4 or chroma < 0.4):
        return "brown"
    if name == "red" and lightness > _LIGHT:
        return "pink"
    if name in ("orange", "pink"):
        return name
    return _shade(name, lightness)


def _shade(name: str, lightness: float) -> str:
    return f"dark {name}" if lightness < _DARK else f"light {name}" if lightness > _LIGHT else name

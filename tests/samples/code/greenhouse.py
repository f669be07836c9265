"""Watering of a greenhouse."""

import math
from dataclasses import dataclass

LITRES_PER_BED = 12
SCHEDULE = {
    "spring": "every second day",
    "summer": "every day, early in the morning, and again in the evening when it was hotter than thirty degrees",
    "autumn": "twice a week",
}


# A bed is what gets watered as one.
@dataclass(
    frozen=True,
)
class Bed:
    """A bed of plants, with what the gardener knows about its soil and the sun that it gets in a day."""

    name: str
    square_metres: float

    def litres(self, *, is_hot: bool) -> float:
        """How much water the bed needs.

def this_is_no_definition(): it stands in a string that is not indented.
        """
        factor = 1.5 if is_hot else 1.0

        def rounded(litres: float) -> float:
            # Half litres are what the tank can measure; less than that is lost in the pipes anyway, so we round up.
            halves = math.ceil(litres * 2)
            return halves / 2

        return rounded(self.square_metres * LITRES_PER_BED * factor)

    async def water(
        self,
        tank: "Tank",
    ) -> None:
        """Open the valve of this bed until the tank says that the litres have run through, and then close it again."""
        await tank.open_valve(self.name)
        await tank.wait_for(self.litres(is_hot=tank.is_hot))
        await tank.close_valve(self.name)


def first(beds): return beds[0]


def last(beds): return beds[-1]


def is_empty(beds): return not beds


if __name__ == "__main__":
    print("The greenhouse has", LITRES_PER_BED, "litres for each bed. Run the watering from the timer, not by hand.")
    print("Nothing is watered from here; this is only to see that the program starts, and which season it takes it for.")

"""Requests of the pages: type and range of every value, checked before anything else."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from delama_ros.experiments.human.game import MAX_OFFSET, MAX_RATING, MAX_SLOPE
from delama_ros.experiments.human.task import ROUNDS, SEATS, Line

MAX_NAME = 24


def _printable(text: str) -> str:
    if not text.isprintable():  # excludes marks that reverse the writing direction, too
        raise ValueError('not printable')
    return text


Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME),
    AfterValidator(_printable),
]
Round = Annotated[int, Field(ge=1, le=ROUNDS)]
Rating = Annotated[int, Field(ge=0, le=MAX_RATING)]
Slope = Annotated[float, Field(ge=-MAX_SLOPE, le=MAX_SLOPE, allow_inf_nan=False)]
Offset = Annotated[float, Field(ge=-MAX_OFFSET, le=MAX_OFFSET, allow_inf_nan=False)]


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, extra='forbid')


class Enter(_Request):
    """A name, and the game to join."""

    name: Name
    quality: Literal['low', 'medium', 'high']
    people: Annotated[int, Field(ge=1, le=SEATS)]


class Proceed(_Request):
    """Confirms that the result of a round was seen."""

    round: Round


class Learn(Proceed):
    """A line through the player's own points."""

    slope: Slope
    offset: Offset

    @property
    def line(self) -> Line:
        """The line."""
        return Line(self.slope, self.offset)


class Aggregate(Learn):
    """The line after seeing the others', and a rating of each of them."""

    ratings: dict[Literal['0', '1', '2', '3'], Rating]

"""The task of the game (section 6.4): noisy points of two straight lines, seen by four players.

Each player sees new points in every round, in a part of the plot only, and never the line itself.
Two of the four look at the first line, two at the second, and players do not know who.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

SEATS = 4
ROUNDS = 3
SPAN = 5.0  # x from -SPAN to SPAN
SLOPE, OFFSET = 2.0, 5.0  # largest of a target line
APART = 2.0  # least distance of the two targets' (slope, offset)


class Line(NamedTuple):
    """y = slope · x + offset, θ of the features [x, 1]."""

    slope: float
    offset: float


@dataclass(frozen=True)
class Quality:
    """How good the data of a game are."""

    points: int  # per player and round
    noise: float  # standard deviation of y
    width: float  # of the part of the x axis they lie in


# The paper names three levels and leaves open what they are.
QUALITIES = {
    'low': Quality(points=3, noise=1.5, width=3.0),
    'medium': Quality(points=5, noise=1.0, width=5.0),
    'high': Quality(points=10, noise=0.5, width=10.0),
}


@dataclass(frozen=True)
class Task:
    """What is behind one game."""

    targets: tuple[Line, Line]
    groups: tuple[int, ...]  # which target each seat has
    points: Floats  # (ROUNDS, SEATS, S, 2): x and y

    def target(self, seat: int) -> Line:
        """Return the line that a seat is to find."""
        return self.targets[self.groups[seat]]


def draw(quality: Quality, rng: np.random.Generator) -> Task:
    """Draw a task: two lines that differ, two seats for each, points for all rounds."""
    first = _draw_line(rng)
    second = _draw_line(rng)
    while np.hypot(*np.subtract(first, second)) < APART:
        second = _draw_line(rng)
    targets = (first, second)
    groups = tuple(int(group) for group in rng.permutation(np.arange(SEATS) % 2))
    size = (ROUNDS, SEATS, quality.points)
    start = rng.uniform(-SPAN, SPAN - quality.width, (ROUNDS, SEATS, 1))
    x = start + rng.uniform(0, quality.width, size)
    slope, offset = np.array([targets[group] for group in groups]).T[:, None, :, None]
    y = slope * x + offset + quality.noise * rng.standard_normal(size)
    return Task(targets, groups, np.stack([x, y], -1))


def loss(line: Line, target: Line) -> float:
    """Return the mean squared error over all x in [-SPAN, SPAN]."""
    slope, offset = np.subtract(line, target)
    # ∫ (slope x + offset)² dx / (2 SPAN): the mixed term vanishes, x² has the mean SPAN²/3.
    return float(slope**2 * SPAN**2 / 3 + offset**2)


def features(points: Floats) -> tuple[Floats, Floats]:
    """Return X (..., S, 2), the features [x, 1], and Y (..., S, 1) of points (..., S, 2)."""
    x, y = points[..., :1], points[..., 1:]
    return np.concatenate([x, np.ones_like(x)], -1), y


def _draw_line(rng: np.random.Generator) -> Line:
    return Line(*(float(rng.uniform(-most, most)) for most in (SLOPE, OFFSET)))

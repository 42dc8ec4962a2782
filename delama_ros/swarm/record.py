"""What a run gave: per robot and step the map's score and the bytes sent; tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from delama_ros.cli.output import format_table
from delama_ros.mapping.score import score
from delama_sim.grid import Floats, OccupancyMap
from delama_sim.truth import surface_truth

MOST_COLUMNS = 8  # robots that have a column of their own in the table
MARGIN = 1.0  # m around the building in pictures
# Colours that stay apart for colour-blind eyes.
UNKNOWN_COLOUR, FREE_COLOUR, WALL_COLOUR = (206, 212, 218), (255, 255, 255), (33, 37, 41)


class Rounds(NamedTuple):
    """How a robot's step went."""

    complete: int  # rounds in which all answered
    incomplete: int  # rounds closed by the deadline
    seconds: float  # of wall time
    exchanging: float  # s of these from the first word said to the last one heard
    computing: float  # s of its own processor time


@dataclass
class Record:
    """Results of a swarm, filled in as they arrive."""

    robots: tuple[str, ...]
    steps: int
    truth: OccupancyMap | None = None
    maps: dict[str, OccupancyMap] = field(default_factory=dict)
    f1: dict[int, dict[str, float]] = field(default_factory=dict)  # step → robot → 0 .. 1
    bytes: dict[int, dict[str, int]] = field(default_factory=dict)
    weights: dict[int, dict[str, dict[str, float]]] = field(default_factory=dict)
    rounds: dict[int, dict[str, Rounds]] = field(default_factory=dict)
    memory: int = 0  # bytes that all processes of the run took at most

    def set_truth(self, truth: OccupancyMap) -> None:
        """Take the map that all others are scored against from now on."""
        self.truth, self._surfaces = truth, surface_truth(truth)

    def add_map(self, robot: str, step: int, occupancy: OccupancyMap) -> None:
        """Take a robot's map after a step, and its score if the truth is known."""
        self.maps[robot] = occupancy
        if self.truth is not None:
            self.f1.setdefault(step, {})[robot] = score(occupancy, self._surfaces).f1

    def add_step(self, robot: str, step: int, sent: int, rounds: Rounds) -> None:
        """Take how many bytes a robot sent in a step, and how its rounds went."""
        self.bytes.setdefault(step, {})[robot] = sent
        self.rounds.setdefault(step, {})[robot] = rounds

    def add_weights(self, robot: str, step: int, weights: dict[str, float]) -> None:
        """Take a robot's row of the collaboration graph."""
        self.weights.setdefault(step, {})[robot] = weights

    def done(self) -> int:
        """Return the last step of which, or of a later one, all robots have given map and bytes."""
        return min(
            max((step for step, row in part.items() if robot in row), default=0)
            for part in (self.weights, self.bytes)
            for robot in self.robots
        )

    def header(self) -> list[str]:
        """Columns of the table; of many robots only the worst and the best."""
        shown = ['worst', 'best'] if len(self.robots) > MOST_COLUMNS else self.robots
        return ['step', *shown, 'mean F1', 'KB/robot', 'peers', 'rounds', 'ms/step']

    def row(self, step: int) -> list[str]:
        """One step of the table; F1 in per cent, a dash for what is missing."""
        f1, sent = self.f1.get(step, {}), self.bytes.get(step, {})
        each = [f1.get(robot) for robot in self.robots]
        if len(self.robots) > MOST_COLUMNS:
            each = [min(f1.values()), max(f1.values())] if f1 else [None, None]
        peers = [len(w) for w in self.weights.get(step, {}).values()]
        rounds = self.rounds.get(step, {}).values()
        complete = sum(r.complete for r in rounds)
        total = complete + sum(r.incomplete for r in rounds)
        return [
            str(step),
            *(_number(value, 100, '.1f') for value in each),
            _number(_mean(f1), 100, '.1f'),
            _number(_mean(sent), 1e-3, '.2f'),
            f'{np.mean(peers):.1f}' if peers else '-',
            f'{complete}/{total}' if total else '-',
            f'{1e3 * np.median([r.seconds for r in rounds]):.0f}' if rounds else '-',
        ]

    def table(self) -> str:
        """All steps."""
        known = sorted({*self.f1, *self.bytes})
        return format_table(self.header(), [self.row(step) for step in known])

    def figures(self) -> dict[str, Any]:
        """Mean over robots: methods → delama → metric → list over t."""
        steps = sorted({*self.f1, *self.bytes})
        return {
            'methods': {
                'delama': {
                    'f1': [_mean(self.f1.get(t, {})) for t in steps],
                    'bytes': [_mean(self.bytes.get(t, {})) for t in steps],
                    'seconds': [_mean(_seconds(self.rounds.get(t, {}))) for t in steps],
                }
            },
            'steps': steps,
            'robots': {
                r: {
                    'f1': [self.f1.get(t, {}).get(r) for t in steps],
                    'bytes': [self.bytes.get(t, {}).get(r) for t in steps],
                    'weights': [self.weights.get(t, {}).get(r) for t in steps],
                    'rounds': [_listed(self.rounds.get(t, {}).get(r)) for t in steps],
                }
                for r in self.robots
            },
        }

    def picture(self, path: Path, *, pixel: float = 0.025, columns: int = 3) -> None:
        """Draw the truth and every robot's map, side by side in one frame."""
        shown = ([('truth', self.truth)] if self.truth is not None else []) + [
            (f'{r}  F1 {100 * list(f1.values())[-1]:.0f}' if (f1 := self._scores(r)) else r, m)
            for r, m in sorted(self.maps.items())
        ]
        if not shown:
            return
        low, high = self._frame([m for _, m in shown if m is not None])
        width, height = (int(n) for n in np.ceil((high - low) / pixel))
        margin, label = 16, 30
        columns = min(columns, len(shown))
        rows = -(-len(shown) // columns)
        sheet = Image.new(
            'RGB',
            (columns * (width + margin) + margin, rows * (height + margin + label) + margin),
            'white',
        )
        draw = ImageDraw.Draw(sheet)
        x, y = np.meshgrid(
            low[0] + (np.arange(width) + 0.5) * pixel, high[1] - (np.arange(height) + 0.5) * pixel
        )
        for i, (title, occupancy) in enumerate(shown):
            assert occupancy is not None
            left = margin + (i % columns) * (width + margin)
            top = margin + (i // columns) * (height + margin + label)
            draw.text((left, top), title, fill='black', font_size=22)
            pixels = SHADES[occupancy.value_at(np.stack([x, y], -1)) + 1]
            sheet.paste(Image.fromarray(pixels), (left, top + label))
        sheet.save(path)

    def _frame(self, maps: Sequence[OccupancyMap]) -> tuple[Floats, Floats]:
        """Return the corners of what is worth showing: the building, or all maps if it is unknown.

        Through an open front door robots see far into the street.
        """
        if self.truth is not None and (self.truth.cells >= 0).any():
            rows, columns = np.nonzero(self.truth.cells >= 0)
            corners = self.truth.centre_of(rows, columns)
            return corners.min(0) - MARGIN, corners.max(0) + MARGIN
        corners = np.concatenate([m.to_world([(0, 0), (m.shape[1], m.shape[0])]) for m in maps])
        return corners.min(0), corners.max(0)

    def _scores(self, robot: str) -> dict[int, float]:
        return {t: f1[robot] for t, f1 in sorted(self.f1.items()) if robot in f1}


def shade(values: Any) -> Any:
    """Occupancy -1, 0 .. 100 as RGB."""
    share = np.clip(values, 0, 100)[..., None] / 100.0
    colours = (1 - share) * np.array(FREE_COLOUR) + share * np.array(WALL_COLOUR)
    colours[values < 0] = UNKNOWN_COLOUR
    return colours.astype(np.uint8)


SHADES = shade(np.arange(-1, 101))  # (102, 3), unknown first


def _number(value: float | None, factor: float, form: str) -> str:
    return '-' if value is None else format(factor * value, form)


def _seconds(rounds: dict[str, Rounds]) -> dict[str, float]:
    return {robot: r.seconds for robot, r in rounds.items()}


def _listed(rounds: Rounds | None) -> list[int] | None:
    return None if rounds is None else [rounds.complete, rounds.incomplete]


def _mean(values: dict[str, Any]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None

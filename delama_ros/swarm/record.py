"""Results of a run: score of the map and bytes sent per robot and step; tables and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from delama_ros.geometry.frame_id import maker_of
from delama_ros.geometry.grid import Floats, OccupancyMap
from delama_ros.geometry.picture import SHADES
from delama_ros.geometry.score import score
from delama_ros.geometry.truth import surface_truth
from delama_ros.output import format_table

MAX_COLUMNS = 8  # robots that get a column of their own in the table
LARGEST = 2400  # pixels along a map in the picture: robots may map places far from each other
MARGIN = 1.0  # m around the building in pictures


class Rounds(NamedTuple):
    """Rounds of one robot's step."""

    complete: int  # rounds in which every neighbour answered
    incomplete: int  # rounds closed by the deadline
    seconds: float  # of wall time
    exchanging: float  # s of it from the first message sent to the last one received
    computing: float  # s of processor time


class Join(NamedTuple):
    """A robot's change of frame."""

    robot: str
    step: int  # the first in the new frame
    frame: str  # id
    error: float | None  # m, between the robot's pose in the new frame and the truth

    @property
    def text(self) -> str:
        """In words."""
        maker = maker_of(self.frame)
        theirs = f"joined {maker}'s frame" if maker else 'joined the map frame'
        what = 'began a new frame' if maker == self.robot else theirs
        known = '' if self.error is None else f' ({100 * self.error:.1f} cm)'
        return f'{self.robot} {what} at step {self.step}{known}'


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
    frames: dict[int, dict[str, str]] = field(default_factory=dict)  # step → robot → frame id
    joins: list[Join] = field(default_factory=list)
    free: bool = False  # whether robots choose their frames, as they do not know where they start
    memory: int = 0  # bytes used by all processes at the end of the run

    def set_truth(self, truth: OccupancyMap) -> None:
        """Set the map that all others are scored against from now on."""
        self.truth, self._surfaces = truth, surface_truth(truth)

    def add_map(self, robot: str, step: int, occupancy: OccupancyMap) -> None:
        """Add a robot's map after a step, and its score if the truth is known."""
        self.maps[robot] = occupancy
        if self.truth is not None:
            self.f1.setdefault(step, {})[robot] = score(occupancy, self._surfaces).f1

    def add_step(self, robot: str, step: int, sent: int, rounds: Rounds) -> None:
        """Add the bytes a robot sent in a step, and its rounds."""
        self.bytes.setdefault(step, {})[robot] = sent
        self.rounds.setdefault(step, {})[robot] = rounds

    def add_weights(self, robot: str, step: int, weights: dict[str, float]) -> None:
        """Add a robot's row of the collaboration graph."""
        self.weights.setdefault(step, {})[robot] = weights

    def add_frame(self, robot: str, step: int, frame: str, error: float | None = None) -> None:
        """Add the frame that a robot's map is in after a step; error: m, if it has changed."""
        before = self.frame_of(robot)
        self.frames.setdefault(step, {})[robot] = frame
        if before and frame != before:
            self.joins.append(Join(robot, step, frame, error))

    def frame_of(self, robot: str) -> str:
        """Return the id of a robot's last frame."""
        return next((row[robot] for _, row in sorted(self.frames.items(), reverse=True)
                     if robot in row), '')

    def joined(self, step: int) -> int:
        """Return how many robots share a frame at a step, in the largest group."""
        return max(Counter(self.frames.get(step, {}).values()).values(), default=0)

    def done(self) -> int:
        """Return the last step that all robots have completed with map and bytes."""
        return min(
            max((step for step, row in part.items() if robot in row), default=0)
            for part in (self.weights, self.bytes)
            for robot in self.robots
        )

    def header(self) -> list[str]:
        """Return the columns of the table; of many robots only the worst and the best."""
        shown = ['worst', 'best'] if len(self.robots) > MAX_COLUMNS else self.robots
        groups = ['frames'] if self.free else []
        return ['step', *shown, 'mean F1', *groups, 'KB/robot', 'peers', 'rounds', 'ms/step']

    def row(self, step: int) -> list[str]:
        """Return one row of the table; F1 in per cent, a dash for missing values."""
        f1, sent = self.f1.get(step, {}), self.bytes.get(step, {})
        scores = [f1.get(robot) for robot in self.robots]
        if len(self.robots) > MAX_COLUMNS:
            scores = [min(f1.values()), max(f1.values())] if f1 else [None, None]
        peers = [len(w) for w in self.weights.get(step, {}).values()]
        rounds = self.rounds.get(step, {}).values()
        complete = sum(r.complete for r in rounds)
        total = complete + sum(r.incomplete for r in rounds)
        return [
            str(step),
            *(_number(value, 100, '.1f') for value in scores),
            _number(_mean(f1), 100, '.1f'),
            *([str(len(set(self.frames.get(step, {}).values())) or '-')] if self.free else []),
            _number(_mean(sent), 1e-3, '.2f'),
            f'{np.mean(peers):.1f}' if peers else '-',
            f'{complete}/{total}' if total else '-',
            f'{1e3 * np.median([r.seconds for r in rounds]):.0f}' if rounds else '-',
        ]

    def table(self) -> str:
        """Return the table of all steps."""
        known = sorted({*self.f1, *self.bytes})
        return format_table(self.header(), [self.row(step) for step in known])

    def figures(self) -> dict[str, Any]:
        """Return means over robots: methods → fusion → metric → list over steps."""
        steps = sorted({*self.f1, *self.bytes})
        return {
            'methods': {
                'fusion': {
                    'f1': [_mean(self.f1.get(t, {})) for t in steps],
                    'bytes': [_mean(self.bytes.get(t, {})) for t in steps],
                    'seconds': [_mean(_seconds(self.rounds.get(t, {}))) for t in steps],
                }
            },
            'steps': steps,
            **({
                'joined': [self.joined(t) for t in steps],
                'joins': [join._asdict() for join in self.joins],
            } if self.free else {}),
            'robots': {
                r: {
                    'f1': [self.f1.get(t, {}).get(r) for t in steps],
                    'bytes': [self.bytes.get(t, {}).get(r) for t in steps],
                    'weights': [self.weights.get(t, {}).get(r) for t in steps],
                    'rounds': [_listed(self.rounds.get(t, {}).get(r)) for t in steps],
                    **({'frame': [self.frames.get(t, {}).get(r) for t in steps]}
                       if self.free else {}),
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
        pixel = max(pixel, float((high - low).max()) / LARGEST)
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
        """Return the corners of the picture: the building, or all maps if that is unknown.

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


def _number(value: float | None, factor: float, form: str) -> str:
    return '-' if value is None else format(factor * value, form)


def _seconds(rounds: dict[str, Rounds]) -> dict[str, float]:
    return {robot: r.seconds for robot, r in rounds.items()}


def _listed(rounds: Rounds | None) -> list[int] | None:
    return None if rounds is None else [rounds.complete, rounds.incomplete]


def _mean(values: dict[str, Any]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None

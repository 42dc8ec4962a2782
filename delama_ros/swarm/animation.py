"""A GIF of robots that find each other: maps in frames of their own that become one.

On the left every group of robots has its map, in its own frame and colour. When robots join, their
maps move onto each other. On the right is the map that the first robot makes without the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from delama_ros.geometry.frame_id import maker_of
from delama_ros.geometry.grid import Floats, OccupancyMap
from delama_ros.geometry.map_file import write_whole
from delama_ros.geometry.pose_math import transform
from delama_ros.swarm.film import Film, Shot

SIZE = 800, 480  # px
STAGE = 20, 70, 548, 420  # px: left, top, right and bottom of the groups' maps ...
ALONE = 580, 70, 780, 420  # ... and of the map of one robot
GAP = 14  # px between maps
FINE = 2  # px that are computed for each that is drawn, per axis
MOVING = 5  # pictures from one step to the next when robots join
HELD, PASSING, LAST = 700, 100, 3000  # ms that a picture stays: of a step, in motion, the last one
INK, FAINT, LINE = (33, 37, 41), (108, 117, 125), (222, 226, 230)
COLOURS = (  # of Okabe and Ito, which all eyes can tell apart
    (0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233),
    (138, 122, 0),
)
TINT, DARK = 0.14, 0.85  # of a group's colour in free space, and of its brightness in walls
OPACITY = 0.92  # of maps: what they move over shows through
WALL = 30.0, 70.0  # per cent of occupancy between which free space turns into wall
Box = tuple[float, float, float, float]
Colour = tuple[int, int, int]
Group = tuple[Shot, ...]  # robots that map in one frame


@dataclass(frozen=True)
class Placing:
    """Where a map is drawn: a point of the building, where it is on the screen, and how."""

    middle: tuple[float, float]  # m
    at: tuple[float, float]  # px
    turn: float  # rad, of the building on the screen
    scale: float  # px per m

    def towards(self, other: Placing, share: float) -> Placing:
        """Return what lies between two: 0 is this one, 1 the other."""
        at = self.pixel(other.middle)
        x, y, scale = (
            a + share * (b - a)
            for a, b in zip((*at, self.scale), (*other.at, other.scale), strict=True)
        )
        turn = self.turn + share * math.remainder(other.turn - self.turn, 2 * math.pi)
        return Placing(other.middle, (x, y), turn, scale)

    def pixel(self, point: Sequence[float]) -> tuple[float, float]:
        """Return where a point of the building is on the screen."""
        x, y = point[0] - self.middle[0], point[1] - self.middle[1]
        c, s = self.scale * math.cos(self.turn), self.scale * math.sin(self.turn)
        return self.at[0] + c * x - s * y, self.at[1] - s * x - c * y

    def points(self, x: Floats, y: Floats) -> Floats:
        """Return the points (..., 2) of the building at pixels."""
        c, s = math.cos(self.turn) / self.scale, math.sin(self.turn) / self.scale
        u, v = x - self.at[0], self.at[1] - y
        return np.stack([c * u + s * v, c * v - s * u], -1) + self.middle


def write_gif(together: Film, alone: Film, file: str | Path) -> Path:
    """Write the animation of a run; alone: the same robots without messages."""
    scene = _Scene(together, alone)
    pictures: list[Image.Image] = []
    times: list[int] = []
    steps = sorted(together.shots)
    for last, step in zip([None, *steps], steps, strict=False):
        if last is not None and _frames(together.shots[last]) != _frames(together.shots[step]):
            begin, end = scene.layout(last), scene.layout(step)
            for k in range(1, MOVING):
                share = 0.5 - 0.5 * math.cos(math.pi * k / MOVING)
                moving = {name: begin[name].towards(end[name], share) for name in end}
                pictures.append(scene.picture(last, moving))
                times.append(PASSING)
        pictures.append(scene.picture(step, scene.layout(step)))
        times.append(HELD)
    times[-1] = LAST
    first, *others = _indexed(pictures)
    write_whole(Path(file), lambda f: first.save(
        f, 'GIF', save_all=True, append_images=others, duration=times, loop=0
    ))
    return Path(file)


def _indexed(pictures: Sequence[Image.Image]) -> list[Image.Image]:
    """Return pictures with one palette, drawn from some of them."""
    some = pictures[:: max(len(pictures) // 4, 1)]
    sheet = Image.new('RGB', (SIZE[0], SIZE[1] * len(some)))
    for k, picture in enumerate(some):
        sheet.paste(picture, (0, k * SIZE[1]))
    palette = sheet.quantize(128, dither=Image.Dither.NONE)
    found = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    # The background becomes nearly white only: it is the colour of the corner.
    colours = np.array(found[0].getpalette()).reshape(-1, 3)
    colours[np.asarray(found[0])[0, 0]] = 255
    for picture in found:
        picture.putpalette(colours.ravel().tolist())
    return found


class _Scene:
    def __init__(self, together: Film, alone: Film) -> None:
        self._together, self._alone = together, alone
        self._robots = [shot.robot for shot in together.shots[min(together.shots)]]
        # Maps keep their places for as long as the same robots are together.
        self._periods: dict[tuple[tuple[str, ...], ...], list[int]] = {}
        for step, shots in together.shots.items():
            self._periods.setdefault(_frames(shots), []).append(step)
        self._layouts = {key: self._layout(steps) for key, steps in self._periods.items()}
        last = _groups(together.shots[max(together.shots)])[0]
        first = alone.shots[min(alone.shots)][0]
        self._placing_alone = _fitted([(last[0].occupancy, -first.place[2])], [ALONE])[0]

    def layout(self, step: int) -> dict[str, Placing]:
        """Return where each robot's map is drawn."""
        return self._layouts[_frames(self._together.shots[step])]

    def _layout(self, steps: Sequence[int]) -> dict[str, Placing]:
        """Return the places of maps while groups stay the same: those at the end are largest."""
        groups = _groups(self._together.shots[steps[-1]])
        maps = [(group[0].occupancy, -group[0].place[2]) for group in groups]
        placings = _fitted(maps, _cells(len(groups)))
        return {
            shot.robot: placing
            for group, placing in zip(groups, placings, strict=True) for shot in group
        }

    def picture(self, step: int, placings: dict[str, Placing]) -> Image.Image:
        """Draw the maps of a step at given places."""
        image = Image.new('RGB', SIZE, 'white')
        shots = self._together.shots[step]
        groups = _groups(shots)
        for group in groups:
            self._map(image, group[0].occupancy, placings[group[0].robot], self._colour(group[0]),
                      STAGE)
        first = self._alone.shots[step][0]
        self._map(image, first.occupancy, self._placing_alone, self._colour(first), ALONE)
        draw = ImageDraw.Draw(image)
        for group in groups:
            for shot in group:
                self._robot(draw, shot, placings[shot.robot])
        self._robot(draw, first, self._placing_alone)
        self._texts(draw, step, groups)
        return image

    def _colour(self, shot: Shot) -> Colour:
        """Return the colour of the frame that a robot maps in: that of the robot that made it."""
        maker = maker_of(shot.frame)
        return self._own_colour(maker if maker in self._robots else self._robots[0])

    def _own_colour(self, robot: str) -> Colour:
        return COLOURS[self._robots.index(robot) % len(COLOURS)]

    def _map(
        self, image: Image.Image, occupancy: OccupancyMap, placing: Placing, colour: Colour,
        box: Box,
    ) -> None:
        left, top, right, bottom = (int(v) for v in box)
        x, y = np.meshgrid(
            left + (np.arange((right - left) * FINE) + 0.5) / FINE,
            top + (np.arange((bottom - top) * FINE) + 0.5) / FINE,
        )
        values = occupancy.value_at(placing.points(x, y)).astype(np.float64)
        wall = np.clip((values - WALL[0]) / (WALL[1] - WALL[0]), 0.0, 1.0)[..., None]
        ink = np.array(colour, np.float64)
        free = (1 - TINT) * 255 + TINT * ink
        seen = np.where(values >= 0, OPACITY, 0.0)[..., None]
        pixels = np.concatenate([seen * ((1 - wall) * free + wall * DARK * ink), seen], -1)
        parts = pixels.reshape(bottom - top, FINE, right - left, FINE, 4).mean((1, 3))
        alpha = parts[..., 3:]
        under = np.asarray(image.crop((left, top, right, bottom)), np.float64)
        mixed = (parts[..., :3] + (1 - alpha) * under).round().astype(np.uint8)
        image.paste(Image.fromarray(mixed), (left, top))

    def _robot(self, draw: ImageDraw.ImageDraw, shot: Shot, placing: Placing) -> None:
        x, y = placing.pixel(shot.pose)
        turn = shot.pose[2] + placing.turn
        colour, r = self._own_colour(shot.robot), 6.5
        draw.circle((x, y), r + 2, fill='white')
        draw.circle((x, y), r, fill=colour)
        draw.line((x, y, x + r * math.cos(turn), y - r * math.sin(turn)), fill='white', width=2)

    def _texts(self, draw: ImageDraw.ImageDraw, step: int, groups: Sequence[Group]) -> None:
        number, robots = len(groups), len(self._robots)
        frames = 'one common map' if number == 1 else f'{number} maps, each in its own frame'
        draw.text((STAGE[0], 14), f'{robots} robots that start anywhere', INK, font_size=21)
        draw.text((STAGE[0], 39), frames, FAINT, font_size=14)
        draw.text((ALONE[0], 14), f'{self._robots[0]} alone', INK, font_size=21)
        middle = (STAGE[2] + ALONE[0]) // 2
        draw.line((middle, 16, middle, SIZE[1] - 16), fill=LINE)
        base = SIZE[1] - 40
        draw.line((STAGE[0], base - 10, STAGE[2], base - 10), fill=LINE)
        draw.line((ALONE[0], base - 10, ALONE[2], base - 10), fill=LINE)
        sent = self._together.sent(step) / 1000
        for x, name, value in (
            (STAGE[0], 'step', f'{step}'),
            (STAGE[0] + 110, 'mean F1', f'{self._together.f1(step):.0f} %'),
            (STAGE[0] + 280, 'sent per robot so far', f'{sent:.1f} KB'),
            (ALONE[0], 'F1', f'{self._alone.f1(step, self._robots[0]):.0f} %'),
        ):
            draw.text((x, base + 8), name, FAINT, font_size=14)
            draw.text((x + _width(draw, name) + 8, base), value, INK, font_size=24)


def _width(draw: ImageDraw.ImageDraw, text: str) -> float:
    left, _, right, _ = draw.textbbox((0, 0), text, font_size=14)
    return right - left


def _groups(shots: Iterable[Shot]) -> list[Group]:
    """Return robots by the frames they map in; groups and members by name."""
    found: dict[str, list[Shot]] = {}
    for shot in shots:
        found.setdefault(shot.frame, []).append(shot)
    return [tuple(group) for group in found.values()]


def _frames(shots: Iterable[Shot]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(shot.robot for shot in group) for group in _groups(shots))


def _cells(number: int) -> list[Box]:
    """Cut the stage into places for maps, rows of at most three."""
    left, top, right, bottom = STAGE
    rows = 1 if number <= 2 else -(-number // 3)
    counts = [number // rows + (k < number % rows) for k in range(rows)]
    height = (bottom - top + GAP) / rows
    return [
        (
            left + k * (right - left + GAP) / count, top + row * height,
            left + (k + 1) * (right - left + GAP) / count - GAP, top + (row + 1) * height - GAP,
        )
        for row, count in enumerate(counts) for k in range(count)
    ]


def _fitted(maps: Sequence[tuple[OccupancyMap, float]], boxes: Sequence[Box]) -> list[Placing]:
    """Return placings that fit each map, turned by rad, into its box, all at one scale."""
    middles, sizes = [], []
    for occupancy, turn in maps:
        rows, columns = np.nonzero(occupancy.cells >= 0)
        corners = transform((0.0, 0.0, turn), occupancy.centre_of(rows, columns))
        low, high = corners.min(0), corners.max(0)
        middles.append(transform((0.0, 0.0, -turn), 0.5 * (low + high)))
        sizes.append(high - low + 0.2)
    scale = min(
        min((right - left) / size[0], (bottom - top) / size[1])
        for size, (left, top, right, bottom) in zip(sizes, boxes, strict=True)
    )
    return [
        Placing((float(m[0]), float(m[1])), (0.5 * (box[0] + box[2]), 0.5 * (box[1] + box[3])),
                turn, scale)
        for m, (_, turn), box in zip(middles, maps, boxes, strict=True)
    ]

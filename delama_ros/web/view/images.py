"""Maps and scans for browsers: palette PNGs and 16-bit points."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from delama_ros.geometry.grid import Bools, Floats, OccupancyMap, Pose
from delama_ros.geometry.picture import shade
from delama_ros.geometry.truth import surface_truth

TRUTH_COLOUR = (106, 61, 190, 150)  # violet, not used for robots
BEAMS = 360  # points per scan, maximum
CENTIMETRE = 0.01
FARTHEST = 32767  # cm that fit into 16 bits
# Unknown cells are transparent.
PALETTE = np.concatenate([shade(np.arange(101)), np.zeros((155, 3), np.uint8)])
UNKNOWN = 255  # palette index of unknown cells
OPACITY = bytes([255] * UNKNOWN + [0])


class Picture(NamedTuple):
    """A map to draw: row 0 of the image has the highest y in the axes of the map."""

    png: bytes
    place: dict[str, Any]  # width and height m, origin (x, y, yaw), box of the contents


def map_picture(occupancy: OccupancyMap) -> Picture:
    """Draw a map; its box is that of the walls."""
    cells = np.where(occupancy.cells < 0, UNKNOWN, np.clip(occupancy.cells, 0, 100))
    image = Image.fromarray(cells[::-1].astype(np.uint8)).convert('P')
    image.putpalette(PALETTE.ravel().tolist())
    return Picture(_png(image, OPACITY), _place(occupancy, occupancy.solid))


def truth_picture(truth: OccupancyMap) -> Picture:
    """Draw the true surfaces as an overlay; the box is that of the building."""
    surfaces = surface_truth(truth, truth.resolution).occupied
    image = Image.fromarray(surfaces[::-1].astype(np.uint8)).convert('P')
    image.putpalette([0, 0, 0, *TRUTH_COLOUR[:3]])
    return Picture(_png(image, bytes([0, TRUTH_COLOUR[3]])), _place(truth, truth.cells >= 0))


def scan_points(scan: Any, *, hangs: bool = False) -> bytes:
    """Return the end points of a LaserScan in the sensor frame: x, y as little-endian int16, cm.

    A laser that is mounted upside down (hangs) scans in the opposite direction.
    """
    ranges = np.asarray(scan.ranges, np.float64)
    angles = scan.angle_min + scan.angle_increment * np.arange(ranges.size)
    angles = -angles if hangs else angles
    stride = max(1, -(-ranges.size // BEAMS))
    ranges, angles = ranges[::stride], angles[::stride]
    high = min(scan.range_max, FARTHEST * CENTIMETRE)
    with np.errstate(invalid='ignore'):
        hit = (ranges >= scan.range_min) & (ranges < high)
    points: Floats = ranges[hit, None] * np.stack([np.cos(angles), np.sin(angles)], -1)[hit]
    return np.rint(points / CENTIMETRE).astype('<i2').tobytes()


def _png(image: Image.Image, transparency: bytes) -> bytes:
    out = io.BytesIO()
    image.save(out, 'PNG', transparency=transparency, compress_level=6)
    return out.getvalue()


def _place(occupancy: OccupancyMap, contents: Bools) -> dict[str, Any]:
    width, height = occupancy.size
    rows, columns = np.nonzero(contents)
    box = None
    if rows.size:
        corners = [
            (columns[i], rows[j])
            for i in (columns.argmin(), columns.argmax())
            for j in (rows.argmin(), rows.argmax())
        ]
        world = occupancy.to_world(np.array(corners) + 0.5)
        box = [round(float(v), 3) for v in (*world.min(0), *world.max(0))]
    return {'width': width, 'height': height, 'origin': rounded(occupancy.origin), 'box': box}


def rounded(pose: Pose) -> list[float]:
    """Return a pose rounded to mm and mrad."""
    return [round(float(v), 3) for v in pose]

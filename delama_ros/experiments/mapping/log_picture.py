"""Maps side by side in one frame, with trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from delama_ros.experiments.mapping.log_agreement import in_one_frame
from delama_ros.geometry.grid import Floats, OccupancyMap
from delama_ros.geometry.picture import SHADES

PANEL = 900  # pixels a panel may be wide or high
MARGIN, LABEL = 12, 24  # pixels
# Okabe and Ito's colours, which stay apart for colour-blind eyes.
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#F0E442')


@dataclass(frozen=True, eq=False)
class Panel:
    """A map with a title, and trajectories (N, 2) in metres drawn over it."""

    title: str
    occupancy: OccupancyMap
    trajectories: Sequence[Floats] = ()


def write_panels(panels: Sequence[Panel], path: Path) -> None:
    """Draw maps of the same tiles side by side."""
    frames, resolution, origin = in_one_frame([panel.occupancy for panel in panels])
    rows, columns = frames[0].shape
    shrink = max(1, -(-max(rows, columns) // PANEL))
    width, height = -(-columns // shrink), -(-rows // shrink)
    sheet = Image.new(
        'RGB', (len(panels) * (width + MARGIN) + MARGIN, height + LABEL + 2 * MARGIN), 'white'
    )
    draw = ImageDraw.Draw(sheet)
    for i, (panel, cells) in enumerate(zip(panels, frames, strict=True)):
        left, top = MARGIN + i * (width + MARGIN), MARGIN + LABEL
        draw.text((left, MARGIN), panel.title, fill='black', font_size=16)
        sheet.paste(Image.fromarray(SHADES[cells[::-1] + 1]).reduce(shrink), (left, top))
        for k, trajectory in enumerate(panel.trajectories):
            at = (trajectory - origin[:2]) / resolution  # cells
            pixels = np.stack([left + at[:, 0] / shrink, top + (rows - at[:, 1]) / shrink], -1)
            draw.line([(x, y) for x, y in pixels.tolist()], COLOURS[k % len(COLOURS)], 2)
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, optimize=True)

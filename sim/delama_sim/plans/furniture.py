"""Furniture-like blocks for generated rooms: along walls or as tables, clear of doors."""

from __future__ import annotations

from delama_sim.plans.layout import Layout, Rect, Rng

# depth and length in metres of what stands along walls: cupboards, sofas, beds, desks
PIECES = (
    ((0.40, 0.65), (0.8, 2.0)),
    ((0.75, 0.95), (1.4, 2.2)),
    ((1.2, 1.7), (1.8, 2.1)),
    ((0.60, 0.80), (1.1, 1.6)),
)
AISLE = 0.85  # kept free in front of a piece and of doors


def furnish(layout: Layout, rng: Rng) -> list[Rect]:
    """Blocks for all rooms but corridors."""
    blocks: list[Rect] = []
    keep_out = [gap.grown(0.7) for gap in layout.doors + layout.openings]
    for i, room in enumerate(layout.rooms):
        if i in layout.hubs and room.short < 2.5:
            continue
        wanted = rng.integers(0, 2 + int(room.area / 8))
        placed: list[Rect] = []
        for _ in range(3 * int(wanted)):
            if len(placed) == wanted:
                break
            piece = _table(room, rng) if rng.random() < 0.2 else _along_wall(room, rng)
            if piece is None or any(piece.meets(area) for area in keep_out):
                continue
            if any(piece.grown(0.7).meets(other) for other in placed):
                continue
            placed.append(piece)
        blocks += placed
    return blocks


def _along_wall(room: Rect, rng: Rng) -> Rect | None:
    depths, lengths = PIECES[int(rng.integers(len(PIECES)))]
    depth, length = rng.uniform(*depths), rng.uniform(*lengths)
    turned = rng.random() < 0.5  # along the left or right wall
    frame = room.transposed() if turned else room
    if frame.width < length + 0.1 or frame.height < depth + AISLE:
        return None
    x = frame.x0 + rng.choice([0.0, 1.0, rng.random()]) * (frame.width - length)
    y = frame.y0 if rng.random() < 0.5 else frame.y1 - depth
    piece = Rect(x, y, x + length, y + depth)
    return piece.transposed() if turned else piece


def _table(room: Rect, rng: Rng) -> Rect | None:
    w, h = rng.uniform(0.6, 1.1), rng.uniform(0.6, 1.6)
    if rng.random() < 0.5:
        w, h = h, w
    if room.width < w + 2 * AISLE or room.height < h + 2 * AISLE:
        return None
    x = rng.uniform(room.x0 + AISLE, room.x1 - AISLE - w)
    y = rng.uniform(room.y0 + AISLE, room.y1 - AISLE - h)
    return Rect(x, y, x + w, y + h)

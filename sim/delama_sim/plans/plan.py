"""A floor plan: an occupancy map and what its source says about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from delama_sim.grid import Floats, OccupancyMap


@dataclass(frozen=True, eq=False)
class Plan:
    """A named map; doors are None where the source does not tell them from free space."""

    name: str
    map: OccupancyMap
    doors: tuple[Floats, ...] | None = None  # each (4, 2), world metres
    rooms: int | None = None

    def with_map(self, occupancy: OccupancyMap) -> Plan:
        """Return the same plan on an edited map."""
        return replace(self, map=occupancy)

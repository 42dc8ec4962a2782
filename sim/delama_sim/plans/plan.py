"""A floor plan: an occupancy map and what its source says about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from delama_ros.geometry.grid import Floats, OccupancyMap


@dataclass(frozen=True, eq=False)
class Plan:
    """A named map; doors are None where the source does not tell them from free space."""

    name: str
    map: OccupancyMap
    doors: tuple[Floats, ...] | None = None  # each (4, 2), world metres
    rooms: int | None = None
    ready: bool = False  # made for a purpose: the mapping protocol adds nothing to it

    def with_map(self, occupancy: OccupancyMap) -> Plan:
        """Return the same plan on an edited occupancy map."""
        return replace(self, map=occupancy)

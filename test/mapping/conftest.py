"""What robots see of a hall that a wall divides."""

from collections.abc import Callable

import numpy as np
import pytest

from delama_ros.core.blocks import Model
from delama_ros.geometry.grid import OccupancyMap
from delama_ros.mapping.default import make_mapper, packaged
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan
from delama_sim.lidar import Lidar
from delama_sim.rays import RayCaster

Looks = Callable[..., None]


@pytest.fixture(scope='session')
def hall() -> Callable[..., OccupancyMap]:
    """Return a maker of rooms of 8 m x 4 m that a wall divides at some x."""

    def make(wall_at: float, thickness: float = 0.1) -> OccupancyMap:
        cells = np.zeros((100, 180), np.int8)
        cells[[*range(8), *range(92, 100)]] = 100
        cells[:, [*range(8), *range(172, 180)]] = 100
        at = round(wall_at / 0.05) + 8
        cells[:, at : at + round(thickness / 0.05)] = 100
        return OccupancyMap(cells, 0.05, (0.0, 0.0, 0.0))

    return make


@pytest.fixture(scope='session')
def look() -> Looks:
    """Let a robot's mapper scan from some places, all around."""
    lidar = Lidar()

    def add(
        mapper: Mapper, plan: OccupancyMap, *places: tuple[float, float],
        moved: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """moved: how far the building is from where it is on the plan, m."""
        for x, y in places:
            for k in range(3):
                pose = (x, y, 0.1 * k)
                ranges = lidar.scan(RayCaster(plan), np.array([pose]), None)[0][0]
                mapper.add_scan(
                    Scan(ranges.astype(np.float64), lidar.angle_min, lidar.angle_increment,
                         lidar.range_min, lidar.range_max),
                    (x + moved[0], y + moved[1], 0.1 * k),
                )

    return add


@pytest.fixture(scope='session')
def seen(look: Looks) -> Callable[..., Model]:
    """Return what a robot learns that scans from some places."""

    def model(plan: OccupancyMap, *places: tuple[float, float]) -> Model:
        mapper = make_mapper('robot', packaged())
        look(mapper, plan, *places)
        mapper.begin(1, ())
        local = mapper.agent.local
        return Model(local.codes, local.theta, local.evidence)

    return model

"""The map as nav2 reads it: its static layer, its AMCL and its map_saver, by their own rules."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from delama_ros.geometry.grid import OccupancyMap
from delama_ros.geometry.map_file import read_map, write_map
from delama_ros.resources import resource
from delama_ros.ros.conversions import occupancy_to_ros

NO_INFORMATION, LETHAL, FREE = 255, 254, 0  # costs of nav2_costmap_2d


def static_layer(data: list[int], *, lethal: int = 100, unknown: int = 255) -> np.ndarray:
    """Return the costs that nav2's static layer gives to cells, with its default parameters."""
    cells = np.asarray(data, np.int8).view(np.uint8)
    return np.select(
        [cells == unknown, cells >= lethal], [NO_INFORMATION, LETHAL], default=FREE
    )


def amcl(data: list[int]) -> np.ndarray:
    """Return AMCL's states of cells: -1 free, 1 occupied, 0 unknown."""
    cells = np.asarray(data)
    return np.select([cells == 0, cells == 100], [-1, 1], default=0)


def map_saver(data: list[int]) -> np.ndarray:
    """Return the shades of nav2's map_saver in trinary mode with its default thresholds."""
    cells = np.asarray(data)
    unknown = (cells < 0) | (cells > 100)
    return np.select([unknown, cells <= 25, cells >= 65], [205, 254, 0], default=205)


@pytest.fixture
def drawn() -> OccupancyMap:
    """Every value that a cell may have."""
    return OccupancyMap(np.arange(-1, 101, dtype=np.int8).reshape(6, 17), 0.05)


def test_every_wall_is_an_obstacle_and_nothing_else(drawn: OccupancyMap) -> None:
    data = list(occupancy_to_ros(drawn.trinary()).data)
    wall, known = drawn.cells.ravel() >= 50, drawn.cells.ravel() >= 0
    expected = np.select([wall, known], [LETHAL, FREE], NO_INFORMATION)
    assert (static_layer(data) == expected).all()
    assert (amcl(data) == np.select([wall, known], [1, -1], 0)).all()
    assert (map_saver(data) == np.select([wall, known], [0, 254], 205)).all()
    # which is not so for probabilities
    assert (static_layer(list(occupancy_to_ros(drawn).data)) == LETHAL).sum() == 1


def test_a_saved_map_is_the_one_that_was_published(drawn: OccupancyMap, tmp_path: Path) -> None:
    published = drawn.trinary()
    saved = read_map(write_map(published, tmp_path / 'map'))
    assert (saved.cells == published.cells).all()


def test_the_parameters_for_nav2_fit_the_topics() -> None:
    given = yaml.safe_load(resource('config/nav2.yaml').read_text())
    costmap = given['global_costmap']['global_costmap']['ros__parameters']
    layer = costmap['static_layer']
    assert layer['plugin'] == 'nav2_costmap_2d::StaticLayer'
    assert layer['map_topic'] == given['amcl']['ros__parameters']['map_topic'] == 'map'
    assert layer['map_subscribe_transient_local'] is True
    assert layer['subscribe_to_updates'] is False  # nothing publishes map_updates
    assert costmap['track_unknown_space'] is True
    assert 'lethal_cost_threshold' not in costmap  # the default: 100
    assert given['lifecycle_manager_delama']['ros__parameters']['bond_timeout'] == 0.0

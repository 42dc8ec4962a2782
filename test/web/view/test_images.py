"""What browsers are sent is the map, cell by cell, and far smaller than the grid."""

import io

import numpy as np
from PIL import Image
from sensor_msgs.msg import LaserScan

from delama_ros.geometry.grid import OccupancyMap
from delama_ros.geometry.picture import shade
from delama_ros.web.view.images import map_picture, scan_points, truth_picture
from delama_sim.plans import load


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert('RGBA'))


def test_every_cell_has_its_shade_and_unknown_is_clear() -> None:
    cells = np.arange(-1, 101, dtype=np.int8).reshape(6, 17)
    drawn = pixels(map_picture(OccupancyMap(cells, 0.05)).png)[::-1]  # row 0 is below
    assert (drawn[..., 3] == np.where(cells < 0, 0, 255)).all()
    known = cells >= 0
    assert (drawn[..., :3][known] == shade(cells)[known]).all()


def test_a_real_plan_is_much_smaller_than_its_grid() -> None:
    plan = load('generated:4').map
    picture = map_picture(plan)
    assert len(picture.png) < plan.cells.size / 10
    assert picture.place['width'] == plan.size[0]


def test_the_box_holds_the_walls_wherever_the_map_lies() -> None:
    cells = np.full((40, 60), -1, np.int8)
    cells[10, 20:31] = 100
    place = map_picture(OccupancyMap(cells, 0.1, (5.0, -2.0, 0.0))).place
    np.testing.assert_allclose(place['box'], [7.05, -0.95, 8.05, -0.95])
    turned = map_picture(OccupancyMap(cells, 0.1, (0.0, 0.0, np.pi / 2))).place
    np.testing.assert_allclose(turned['box'], [-1.05, 2.05, -1.05, 3.05], atol=2e-3)
    assert map_picture(OccupancyMap(np.full((3, 3), -1, np.int8), 0.1)).place['box'] is None


def test_the_truth_shows_surfaces_only() -> None:
    cells = np.full((30, 30), 100, np.int8)
    cells[:, :10] = 0
    alpha = pixels(truth_picture(OccupancyMap(cells, 0.05)).png)[..., 3]
    assert (alpha[:, :10] == 0).all()
    assert (alpha[:, 10:15] > 0).all()
    assert (alpha[:, 16:] == 0).all()  # deep in the wall


def test_scan_points_are_where_beams_end() -> None:
    scan = LaserScan(
        angle_min=0.0, angle_increment=np.pi / 2, range_min=0.1, range_max=12.0,
        ranges=[1.0, 2.5, float('inf'), float('nan')],
    )
    points = np.frombuffer(scan_points(scan), '<i2').reshape(-1, 2)
    assert points.tolist() == [[100, 0], [0, 250]]


def test_beams_of_a_hanging_laser_turn_the_other_way() -> None:
    scan = LaserScan(angle_increment=np.pi / 2, range_max=12.0, ranges=[1.0, 2.0])
    points = np.frombuffer(scan_points(scan, hangs=True), '<i2').reshape(-1, 2)
    assert points.tolist() == [[100, 0], [0, -200]]


def test_a_dense_scan_is_thinned() -> None:
    scan = LaserScan(angle_increment=1e-3, range_max=10.0, ranges=[5.0] * 6000)
    assert len(scan_points(scan)) <= 360 * 4

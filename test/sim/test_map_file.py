import numpy as np
import pytest
from PIL import Image

from delama_ros.geometry import map_file
from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN, OccupancyMap
from delama_ros.geometry.map_file import read_map, write_map

HEAD = 'image: m.png\nresolution: 0.1\norigin: [1.0, -2.0, 0.5]\n'


def picture(folder, shades, mode='L'):
    Image.fromarray(np.array(shades, np.uint8), mode).save(folder / 'm.png')


def written(folder, text):
    (folder / 'm.yaml').write_text(text)
    return folder / 'm.yaml'


def test_trinary_is_read_bottom_row_first(tmp_path):
    picture(tmp_path, [[0, 254], [205, 254]])
    occupancy = read_map(written(tmp_path, HEAD + 'free_thresh: 0.196\n'))
    assert occupancy.cells.tolist() == [[UNKNOWN, FREE], [OCCUPIED, FREE]]
    assert occupancy.origin == (1.0, -2.0, 0.5)
    assert occupancy.resolution == 0.1


def test_negate_turns_shades_round(tmp_path):
    picture(tmp_path, [[0, 255]])
    assert read_map(written(tmp_path, HEAD + 'negate: 1\n')).cells.tolist() == [[FREE, OCCUPIED]]


def test_scale_spreads_between_the_thresholds(tmp_path):
    shades = [[[255, 255], [0, 255], [128, 255], [0, 0]]]
    picture(tmp_path, shades, 'LA')
    text = HEAD + 'mode: scale\nfree_thresh: 0.2\noccupied_thresh: 0.7\n'
    # 128 is 0.498 occupied: (0.498 - 0.2) / 0.5 of the way
    assert read_map(written(tmp_path, text)).cells.tolist() == [[0, 100, 60, UNKNOWN]]


def test_raw_takes_values_as_they_are(tmp_path):
    picture(tmp_path, [[0, 37, 100, 101, 255]])
    cells = read_map(written(tmp_path, HEAD + 'mode: raw\n')).cells
    assert cells.tolist() == [[0, 37, 100, UNKNOWN, UNKNOWN]]


def test_trinary_averages_opacity_with_the_colours(tmp_path):
    # black and see-through: (0 + 0 + 0 + 0) / 4 is occupied, opaque black 255 / 4 too
    picture(tmp_path, [[[0, 0], [255, 255], [140, 0]]], 'LA')
    assert read_map(written(tmp_path, HEAD)).cells.tolist() == [[OCCUPIED, FREE, UNKNOWN]]


@pytest.mark.parametrize('mode', ['trinary', 'scale', 'raw'])
def test_what_is_written_is_read_back(tmp_path, mode):
    values = [FREE, OCCUPIED, UNKNOWN] if mode == 'trinary' else [-1, *range(101)]
    cells = np.random.default_rng(0).choice(values, (30, 41)).astype(np.int8)
    before = OccupancyMap(cells, 0.05, (1.25, -3.5, 0.7))
    after = read_map(write_map(before, tmp_path / 'sub' / 'map', mode=mode))
    assert (after.cells == before.cells).all()
    assert (after.resolution, after.origin) == (before.resolution, before.origin)


def test_a_failed_write_leaves_the_old_files(tmp_path, monkeypatch):
    path = write_map(OccupancyMap(np.zeros((4, 4), np.int8), 0.05), tmp_path / 'map')

    def full(*_):
        raise OSError('no space left')

    monkeypatch.setattr(map_file.os, 'fsync', full)
    with pytest.raises(OSError, match='no space'):
        write_map(OccupancyMap(np.full((4, 4), 100, np.int8), 0.05), tmp_path / 'map')
    assert (read_map(path).cells == FREE).all()
    assert sorted(f.name for f in tmp_path.iterdir()) == ['map.pgm', 'map.yaml']


def test_real_maps(data_dir):
    sizes = {
        'nav2_bringup/depot.yaml': (307, 604),
        'nav2_bringup/warehouse.yaml': (1674, 1006),
        'nav2_bringup/tb3_sandbox.yaml': (384, 384),
        'turtlebot3_navigation2/map.yaml': (384, 384),
    }
    for name, shape in sizes.items():
        occupancy = read_map(data_dir / 'ros_maps' / name)
        assert occupancy.shape == shape
        assert occupancy.solid.any()
        assert occupancy.free.any()


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('image: m.png\norigin: [0, 0, 0]\n', 'resolution is missing'),
        ('image: other.png\nresolution: 1\norigin: [0, 0, 0]\n', 'other.png does not exist'),
        (HEAD + 'mode: quaternary\n', "'quaternary'"),
        (HEAD + 'negate: 2\n', 'negate is 2'),
        (HEAD + 'free_thresh: 0.9\n', 'free_thresh is 0.9'),
        (HEAD.replace('0.1', 'often'), "'often'"),
        (HEAD.replace('0.1', '-1'), '-1.0 m'),
        (HEAD.replace(', 0.5', ''), 'origin'),
        ('image: [', 'not YAML'),
        ('just words', 'not a map'),
    ],
)
def test_bad_files_are_named(tmp_path, text, part):
    picture(tmp_path, [[0]])
    with pytest.raises(PlanError, match=part) as caught:
        read_map(written(tmp_path, text))
    assert 'm.yaml' in str(caught.value)


def test_a_picture_that_is_none_is_named(tmp_path):
    (tmp_path / 'm.png').write_text('not a picture')
    with pytest.raises(PlanError, match=r'm\.png cannot be read'):
        read_map(written(tmp_path, HEAD))
    with pytest.raises(PlanError, match=r'gone\.yaml: cannot be read'):
        read_map(tmp_path / 'gone.yaml')

import math

import numpy as np
import pytest
from PIL import Image

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN
from delama_sim.plans import load
from delama_sim.plans.raster import fill_polygon
from delama_sim.plans.svg import load_svg, read_svg

DOORS = {1: 11, 2: 4, 3: 4, 13: 8}

WALL = '<g class="Wall"><polygon points="0,0 400,0 400,20 0,20 "/>{inside}</g>'
DOOR = '<g class="Door Swing Beside"><polygon points="100,0 200,0 200,20 100,20"/></g>'
WINDOW = '<g class="Window Regular"><polygon points="300,0,350,0,350,20,300,20"/></g>'
SPACE = '<g class="Space Bedroom"><polygon points="0,20 400,20 400,300 0,300 0,20"/></g>'
LEFTOVER = '<g class="SelectionControls"><polygon/></g>'


def svg(floors: str) -> str:
    return (
        '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg">'
        f'<defs/><g class="Model v1-1">{floors}</g></svg>'
    )


def floor(content: str, name: str = 'Floor-1', attributes: str = '') -> str:
    return f'<g class="Floor"><g class="Floorplan {name}" {attributes}>{content}</g></g>'


def file(folder, text):
    path = folder / 'model.svg'
    path.write_text(text)
    return path


@pytest.mark.parametrize('number', DOORS)
def test_real_walls_agree_with_the_class_masks(data_dir, number):
    folder = data_dir / 'cubicasa5k'
    wanted = np.asarray(Image.open(folder / 'seg' / f'{number}.png')) == 2
    drawn = np.zeros_like(wanted)
    floors = read_svg(folder / 'svg' / f'{number}.svg')
    for polygon in (p for f in floors for p in f['Wall']):
        fill_polygon(drawn, polygon)  # one SVG unit is one pixel
    overlap = (drawn & wanted).sum() / (drawn | wanted).sum()
    assert overlap >= 0.88
    assert sum(len(f['Door']) for f in floors) == DOORS[number]


@pytest.mark.parametrize('number', DOORS)
def test_real_doors_are_open_and_windows_solid(data_dir, number):
    path = data_dir / 'cubicasa5k' / 'svg' / f'{number}.svg'
    plan = load(path)
    assert plan.doors is not None
    assert len(plan.doors) == DOORS[number]
    centres = np.array([door.mean(0) for door in plan.doors])
    assert (plan.map.value_at(centres) == FREE).all()
    assert plan.map.cells[0, 0] == UNKNOWN
    area = plan.map.free.sum() * plan.map.resolution**2
    assert 40 < area < 120


def test_several_floors_one_by_one_or_together(data_dir):
    path = data_dir / 'cubicasa5k' / 'svg' / '1.svg'
    both = load(path)
    first, second = load(f'{path}#Floor-1'), load(f'{path}#Floor-2')
    assert first.doors is not None
    assert second.doors is not None
    assert len(first.doors) + len(second.doors) == 11
    assert first.map.free.sum() + second.map.free.sum() == pytest.approx(
        both.map.free.sum(), rel=0.02
    )
    with pytest.raises(PlanError, match=r"1\.svg: has no floor 'Floor-9'.*Floor-1, Floor-2"):
        load(f'{path}#Floor-9')


def test_doors_are_cut_windows_are_not(tmp_path):
    text = svg(floor(SPACE + WALL.format(inside=DOOR + WINDOW) + LEFTOVER))
    plan = load_svg(file(tmp_path, text))
    at = [(0.5 + 1.5, 3.4), (0.5 + 3.25, 3.4), (0.5 + 0.5, 3.4), (0.5 + 2.0, 2.0), (0.1, 0.1)]
    assert plan.map.value_at(at).tolist() == [FREE, OCCUPIED, OCCUPIED, FREE, UNKNOWN]
    assert plan.rooms == 1
    assert plan.name == tmp_path.name, 'a model.svg is named after its folder'


def test_transforms_compose_from_the_root_down(tmp_path):
    content = SPACE + WALL.format(inside=DOOR)
    turned = floor(content, attributes='transform="translate(50, 10) rotate(90) scale(2)"')
    [plain], [moved] = (read_svg(file(tmp_path, svg(text))) for text in (floor(content), turned))
    corners = plain['Wall'][0]
    expected = np.stack([50 - 2 * corners[:, 1], 10 + 2 * corners[:, 0]], -1)
    assert np.allclose(moved['Wall'][0], expected)
    matrix = '<g class="Column Rectangle" transform="matrix(0,1,-1,0,5,7)">'
    column = f'{matrix}<polygon points="0,0 10,0 10,10 0,10"/></g>'
    [with_column] = read_svg(file(tmp_path, svg(floor(content + column))))
    assert with_column['Column'][0].tolist() == [[5, 7], [5, 17], [-5, 17], [-5, 7]]
    around = floor(content, attributes='transform="rotate(180, 200, 10)"')
    [flipped] = read_svg(file(tmp_path, svg(around)))
    assert np.allclose(flipped['Wall'][0], [400, 20] - corners)


def test_hidden_floors_count_and_composed_ones_do_not(tmp_path):
    composed = '<g class="FloorsCompose">' + floor(SPACE, 'Floor-7') + '</g>'
    hidden = floor(SPACE, 'Floor-2', 'style="display:none"')
    found = read_svg(file(tmp_path, svg(floor(SPACE) + hidden + composed)))
    assert [f.name for f in found] == ['Floor-1', 'Floor-2']


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('<svg><g class="Model"', 'not well-formed XML'),
        (svg(''), 'no floor'),
        (svg(floor(SPACE)), 'no walls'),
        (
            svg(floor(WALL.format(inside='') + '<g class="Wall"/>')),
            'Floor-1, Wall 2 has no polygon',
        ),
        (svg(floor('<g class="Space"><polygon/></g>')), 'Floor-1, Space 1 has no points'),
        (
            svg(floor(WALL.format(inside='<g class="Door"><polygon points="1,2 3"/></g>'))),
            'Wall 1, Door 1 has 3 coordinates',
        ),
        (svg(floor('<g class="Railing"><polygon points="1,2 a,b 3,4"/></g>')), 'Railing 1 has bad'),
        (svg(floor(SPACE, attributes='transform="skewX(3)"')), r'skewX\(3\)'),
    ],
)
def test_broken_files_name_file_and_element(tmp_path, text, part):
    with pytest.raises(PlanError, match=part) as caught:
        load_svg(file(tmp_path, text))
    assert 'model.svg' in str(caught.value)


def test_polygons_are_filled_by_cell_centres():
    angles = np.linspace(0, 2 * math.pi, 100, endpoint=False)
    mask = np.zeros((100, 120), np.bool_)
    fill_polygon(mask, 50 + 40 * np.stack([np.cos(angles), np.sin(angles)], -1))
    assert mask.sum() == pytest.approx(math.pi * 1600, rel=0.01)
    outside = np.zeros((10, 10), np.bool_)
    fill_polygon(outside, np.array([(-9.0, -9.0), (-5.0, -9.0), (-5.0, -5.0)]))
    assert not outside.any()
    fill_polygon(outside, np.array([(-5.0, -5.0), (50.0, -5.0), (50.0, 50.0), (-5.0, 50.0)]))
    assert outside.all()

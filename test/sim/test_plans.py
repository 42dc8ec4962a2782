import numpy as np
import pytest
from PIL import Image

from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.grid import FREE, OCCUPIED, UNKNOWN
from delama_ros.geometry.map_file import read_map, write_map
from delama_ros.geometry.picture import write_png, write_sheet
from delama_sim.plans import find, load
from delama_sim.plans.generator import generate
from delama_sim.protocol import prepare


def mask(folder, classes, name='7.png'):
    image = Image.fromarray(np.array(classes, np.uint8), 'P')
    image.putpalette([v for c in range(256) for v in (c, c, c)])
    image.save(folder / name)
    return folder / name


def test_masks_are_the_maps_made_from_them(data_dir):
    folder = data_dir / 'cubicasa5k'
    for name in ('1', '13', '728'):
        seen = load(folder / 'seg' / f'{name}.png')
        wanted = load(folder / 'rosmap' / f'{name}.yaml')
        assert (seen.map.cells == wanted.map.cells).mean() > 0.998
        assert seen.doors is not None
        centres = np.array([door.mean(0) for door in seen.doors])
        assert (seen.map.value_at(centres) == FREE).all()


def test_masks_without_index_keep_doors_closed(tmp_path):
    classes = np.full((50, 50), 4)
    classes[20:30] = 2
    classes[:, :10] = 0
    plan = load(mask(tmp_path, classes))
    assert plan.doors is None
    assert plan.map.value_at([(0.3, 0.25), (0.3, 0.4), (0.05, 0.4)]).tolist() == [
        OCCUPIED,
        FREE,
        UNKNOWN,
    ]


def test_masks_that_are_none_are_refused(tmp_path):
    with pytest.raises(PlanError, match=r'7\.png: has class 77'):
        load(mask(tmp_path, [[2, 77]]))
    with pytest.raises(PlanError, match=r'7\.png: has no wall'):
        load(mask(tmp_path, [[3, 4]]))
    Image.fromarray(np.zeros((3, 3), np.uint8)).save(tmp_path / 'grey.png')
    with pytest.raises(PlanError, match=r'grey\.png: is a L picture.*map\.yaml'):
        load(tmp_path / 'grey.png')
    mask(tmp_path, [[2, 3]])
    (tmp_path / 'index.json').write_text('{"plans": {"7": {}}}')
    with pytest.raises(PlanError, match=r'index\.json'):
        load(tmp_path / '7.png')


def test_a_dataset_folder_lists_its_plans(data_dir):
    found = find(data_dir / 'cubicasa5k')
    folders = ('svg', 'seg', 'rosmap', 'hard')
    assert len(found) == sum(len(find(data_dir / 'cubicasa5k' / name)) for name in folders) > 280
    assert [p.stem for p in find(data_dir / 'cubicasa5k' / 'svg')] == ['1', '2', '3', '13']
    with pytest.raises(PlanError, match=r'holds 4 plans, name one, for example .*1\.svg'):
        load(data_dir / 'cubicasa5k' / 'svg')


def test_the_pictures_of_the_original_dataset_are_no_plans(data_dir, tmp_path):
    for number in (2, 13):
        folder = tmp_path / 'high_quality' / str(number)
        folder.mkdir(parents=True)
        drawing = (data_dir / 'cubicasa5k' / 'svg' / f'{number}.svg').read_bytes()
        (folder / 'model.svg').write_bytes(drawing)
        Image.new('RGB', (9, 9)).save(folder / 'F1_scaled.png')
        (folder / 'F1_original.png').write_text('broken')
    assert [p.parts[-2:] for p in find(tmp_path)] == [('2', 'model.svg'), ('13', 'model.svg')]
    plan = load(tmp_path / 'high_quality' / '13')
    assert plan.name == '13'
    assert plan.doors is not None
    assert len(plan.doors) == 8


def test_a_folder_with_one_plan_is_that_plan(tmp_path):
    write_map(generate(3).map, tmp_path / 'one')
    assert (load(tmp_path).map.cells == generate(3).map.cells).all()
    with pytest.raises(PlanError, match='holds no plan'):
        find(tmp_path.parent / 'nowhere')


@pytest.mark.parametrize(
    ('spec', 'part'),
    [
        ('generated:', 'generated:SEED'),
        ('generated', 'no such file; expected generated:SEED'),
        ('generated:-3', 'generated:SEED'),
        ('generated:castle:3', "'castle', expected one of flat, office"),
        ('generated:a:b:3', 'generated:KIND:SEED'),
        ('nowhere/model.svg', 'no such file'),
        ('nowhere.yaml#Floor-1', 'no such file'),
        (__file__, 'is not a plan'),
        (f'{__file__}#Floor-1', 'only a .svg has floors'),
    ],
)
def test_wrong_names_say_what_is_expected(spec, part):
    with pytest.raises(PlanError, match=part):
        load(spec)


def test_generated_names():
    assert (load('generated:5').map.cells == generate(5).map.cells).all()
    assert load('generated:office:5').name == 'generated:office:5'
    assert load('generated:5', 0.1).map.resolution == 0.1


def test_pictures(tmp_path):
    occupancy = generate(1).map
    image = np.asarray(Image.open(write_png(occupancy, tmp_path / 'a.png')))
    assert image.shape == occupancy.shape
    assert set(np.unique(image)) == {0, 200, 255}
    assert (image[::-1][occupancy.solid] == 0).all()
    sheet = Image.open(write_sheet([occupancy] * 5, tmp_path / 'b.png', columns=3))
    assert sheet.size == (3 * 306, 2 * 306)


def test_export_and_import_give_the_same_plan(tmp_path):
    occupancy = generate(2).map
    assert (read_map(write_map(occupancy, tmp_path / 'm')).cells == occupancy.cells).all()


def test_rooms_are_alike_but_for_the_marked_one():
    plain, marked, furnished, bare = (
        load(f'rooms:3{option}').map for option in ('', ':marked=5', ':furnished', ':one_side')
    )
    pitch, half = round(3.8 / 0.05), np.s_[:, :3 * round(3.8 / 0.05)]
    for plan in (plain, furnished, bare):
        inner = plan.cells[half]
        assert (inner[:, :-pitch] == inner[:, pitch:])[:, 4:].mean() > 0.99
    changed = np.argwhere(plain.cells != marked.cells) * 0.05
    assert np.ptp(changed, axis=0).tolist() == pytest.approx([0.65, 0.95])  # a block
    assert (plain.cells != furnished.cells).sum() == 6 * len(changed)
    assert bare.size[1] < 0.65 * plain.size[1]
    assert (prepare(load('rooms:3'), 7).cells == plain.cells).all()  # nothing breaks the symmetry


@pytest.mark.parametrize(
    'spec', ['rooms:', 'rooms:0', 'rooms:3:marked=7', 'rooms:3:blue', 'rooms:3:marked', 'rooms:x']
)
def test_rooms_that_are_none_are_refused(spec):
    with pytest.raises(PlanError, match=f"'{spec}', expected"):
        load(spec)

"""Every file that is read may be anything: loaders refuse it with one line that names it."""

import gzip
import json
import math
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from delama_ros.core import checkpoint
from delama_ros.data.log import Log, Reading
from delama_ros.data.read import read_all
from delama_ros.data.write import write_bag
from delama_ros.errors import UserError
from delama_ros.experiments.tasks.trained import TrainedRun, packaged
from delama_ros.geometry.map_file import read_map
from delama_ros.mapping import completion
from delama_ros.mapping.checkpoint import load as load_mapping
from delama_ros.mapping.default import PACKAGED, default_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan
from delama_ros.robot.localization import Localization
from delama_ros.robot.memory_file import load_memory, save_memory
from delama_ros.robot.parameters import ROBOT
from delama_ros.swarm.description import read as read_description
from delama_ros.training.config import read_file
from delama_sim.paths import load_waypoints
from delama_sim.plans import load as load_plan

ROOM = Scan(np.full(90, 2.0), 0.0, math.pi / 45, 0.1, 8.0)
Damage = Callable[[Path], Any]


def arrays(**changes: Any) -> Damage:
    """Write a file of arrays again with others; None removes one."""

    def damage(path: Path) -> None:
        with np.load(path) as stored:
            content = {name: stored[name] for name in stored.files}
        for name, value in changes.items():
            content[name] = value(content[name]) if callable(value) else value
        np.savez(path, **{n: v for n, v in content.items() if v is not None})

    return damage


def described(**changes: Any) -> Damage:
    """Write a checkpoint with another description, fingerprint left out."""

    def change(text: Any) -> str:
        values = {**json.loads(str(text)), **changes}
        del values['fingerprint']
        return json.dumps({n: v for n, v in values.items() if v is not None})

    return arrays(description=change)


def text(content: str | bytes) -> Damage:
    def damage(path: Path) -> None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return damage


def changed(old: str, new: str) -> Damage:
    def damage(path: Path) -> None:
        content = path.read_text()
        assert old in content
        path.write_text(content.replace(old, new))

    return damage


def cut(share: float) -> Damage:
    def damage(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])

    return damage


def flipped(path: Path) -> None:
    """Change every 97th byte of the middle."""
    content = bytearray(path.read_bytes())
    for at in range(len(content) // 3, 2 * len(content) // 3, 97):
        content[at] ^= 0xFF
    path.write_bytes(bytes(content))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def nan_in(array: Any) -> Any:
    array = array.astype(float)
    array.flat[-1] = math.nan
    return array


ANYWHERE: list[Damage] = [
    Path.unlink, folder, text(b''), text(b'\0' * 4096), text(b'\x89PNG\r\n\x1a\n garbage'),
    text(b'PK\x03\x04 no archive'), text('[1, 2'), text('just words\n'), cut(0.6), flipped,
    lambda path: path.write_bytes(gzip.compress(b'other')),
    lambda path: Image.new('L', (3, 3)).save(path, 'PNG'),
    lambda path: np.save(path.open('wb'), np.ones(3)),
    lambda path: np.savez(path.open('wb'), other=np.ones(3)),
    lambda path: np.savez(path.open('wb'), keys=np.array([object()], object)),
    lambda path: zipfile.ZipFile(path, 'w').writestr('keys.npy', b'\x93NUMPY\x01\x00\xff\xff{'),
]
MEMORY = [
    arrays(keys=None), arrays(A=None), arrays(t=None), arrays(fingerprint=None),
    arrays(version=np.int64(99)), arrays(version=np.int64(-1)), arrays(version=np.array('two')),
    arrays(fingerprint=np.uint64(1)), arrays(fingerprint=np.ones(3)), arrays(A=nan_in),
    arrays(b=nan_in), arrays(evidence=nan_in), arrays(evidence=lambda e: -1.0 - e),
    arrays(A=lambda a: -1e6 * np.abs(a) - np.eye(32)), arrays(A=lambda a: a[:-1]),
    arrays(A=lambda a: a[..., :-1]), arrays(b=lambda b: b[..., 0]), arrays(t=np.ones(2)),
    arrays(t=np.int64(-4)), arrays(t=np.float64(math.nan)), arrays(keys=lambda k: k.T),
    arrays(keys=lambda k: k.astype(float) + 0.5), arrays(keys=lambda k: np.zeros_like(k)),
    arrays(keys=lambda k: k + 2**30), arrays(keys=np.array('text')), arrays(A=np.array('text')),
    arrays(epoch=np.array('x')), arrays(epoch=np.ones(3)), arrays(fade=nan_in),
    arrays(fade=lambda f: f - 1), arrays(frame=np.ones(3)), arrays(fixed=np.ones((3, 3))),
    arrays(fixed=np.array('x')), arrays(keyframe_ids=lambda k: k[:-1]),
    arrays(keyframe_ids=lambda k: np.zeros_like(k)), arrays(keyframe_ids=lambda k: k * 0.5),
    arrays(keyframe_poses=nan_in), arrays(keyframe_poses=None), arrays(keyframe_lasers=nan_in),
    arrays(keyframe_lasers=lambda k: k[:, ::-1]), arrays(keyframe_sizes=lambda k: -k),
    arrays(keyframe_sizes=lambda k: k + 1), arrays(keyframe_sizes=lambda k: k * 0 + 2**62),
    arrays(keyframe_sizes=lambda k: k.astype(float)), arrays(keyframe_ranges=lambda r: r[:-1]),
    arrays(keyframe_ranges=lambda r: r.astype(str)), arrays(keyframe_peers=np.ones((1, 2))),
    arrays(keyframe_steps=lambda s: s.astype(str)), arrays(fade_sizes=np.array([[1, 5]])),
    arrays(fade_sizes=np.array([[1, -5]])), arrays(fade_sizes=None),
    arrays(fade_codes=np.ones(3)), arrays(fade_values=np.ones((2, 2))),
    arrays(localization_version=np.int64(1)), arrays(localization_ids=np.ones(2)),
]
CHECKPOINT = [
    arrays(description=None), arrays(description='7'), arrays(description='[]'),
    arrays(description=np.ones(3)), arrays(description='{"format": []}'), arrays(table=None),
    described(settings=[]), described(settings=None), described(settings={'lambda3': 'much'}),
    described(settings={'lambda2': math.nan}), described(settings={'accumulate': ['sum']}),
    described(settings={'update_rounds': 'x'}), described(options=[]), described(options=7),
    described(options={}), described(options={'weights': 'x', 'targets': 1, 'bias': 0}),
    described(made=[]), described(made=7), described(task=None), described(task=['mapping']),
    described(task='decoder'),
    arrays(header='7', description=None), arrays(header='[]', description=None),
    arrays(header='{"format": 1}', description=None),
]
OPTIONS = {
    'weights': [1.0] * 5, 'targets': [0.5] * 5, 'bias': -1.0, 'resolution': 0.05,
}
MAPPING = [
    *CHECKPOINT,
    *(described(options={**OPTIONS, name: value}) for name, value in (
        ('weights', ['a'] * 5), ('weights', [1.0] * 4), ('weights', [-1.0] * 5),
        ('weights', [math.nan] * 5), ('targets', [math.inf] * 5), ('targets', None),
        ('bias', 'dark'), ('bias', math.nan), ('bias', None), ('bias', [1.0]),
        ('resolution', 0), ('resolution', -0.05), ('resolution', math.nan), ('resolution', 'x'),
        ('resolution', [0.05]),
    )),
]
PLAIN = described()
TABLES = [
    lambda path, damage=damage: (arrays(table=damage)(path), PLAIN(path))
    for damage in (
        lambda t: t[0], nan_in, lambda t: t[:, :-1], lambda t: t[:, :7, :7], lambda t: t[:0],
        lambda t: t.astype(str), lambda t: t.astype(complex) * 1j,
    )
]
MAP = [
    changed('image: map.pgm', 'image: other.pgm'), changed('image: map.pgm', 'image: [1]'),
    changed('image: map.pgm', 'image: .'), changed('mode: trinary', 'mode: colour'),
    changed('mode: trinary', 'mode: [1]'), changed('resolution: 0.05', 'resolution: 0'),
    changed('resolution: 0.05', 'resolution: .nan'), changed('resolution: 0.05', 'resolution: x'),
    changed('resolution: 0.05', 'resolution: true'), changed('origin: [', 'origin: [7, '),
    changed('origin: [0.0', 'origin: [.inf'), changed('negate: 0', 'negate: 2'),
    changed('occupied_thresh: 0.65', 'occupied_thresh: 0.1'), changed('resolution', 'resolutio'),
    changed('free_thresh: 0.196', 'free_thresh: {}'), text('{{'), text('- 1\n- 2\n'),
    text('image: !!python/object/apply:os.system [ls]\n'), text('a: &a [*a]\n'),
    text('image: "a\\0b"\nresolution: 0.05\norigin: [0, 0, 0]\n'),
    *(
        lambda path, damage=damage: damage(path.with_suffix('.pgm'))
        for damage in (
            *ANYWHERE[:9], text('P5\n0 0\n255\n'), text('P5\n-3 3\n255\n'),
            text('P5\n100000 100000\n255\n'), text('P5\n3 3\n255\n'), text('P2\n3 3\n255\nx'),
        )
    ),
]
CARMEN = [
    changed('FLASER 180', 'FLASER 181'), changed('FLASER 180', 'FLASER 7'),
    changed('FLASER 180', 'FLASER -180'), changed('FLASER 180', 'FLASER many'),
    changed('FLASER 180', 'FLASER'), changed(' 1.5 ', ' nan '), changed(' 1.5 ', ' wide '),
    changed(' 1.5 ', ' 1e999 '), changed('FLASER', 'RLASER'), changed(' host', ''),
]
DESCRIPTION = [
    text('robots: 0'), text('robots: -1'), text('robots: [1]'), text('robots: [a, a]'),
    text('robots: ["a b"]'), text('robots: {ann: 3}'), text('robots: 1e9'), text('robots: .nan'),
    text('plan: 7'), text('plan: []'), text('steps: x'), text('steps: -3'), text('steps: .inf'),
    text('period: .nan'), text('period: -1.0'), text('period: [1]'), text('simulator: 7'),
    text('simulator: {beams: many}'), text('simulator: {beams: 0}'), text('simulator: {wings: 2}'),
    text('simulator: {range_max: .nan}'), text('overrides: {zoe: {}}'), text('wings: 2'),
    text('logs: {}'), text('logs: [1]'), text('starts: soon'), text('1: 2'), text('? [1]\n: 2'),
    text('start_pose: [a, b, c]'), text('start_pose: [1]'), text('seed: -4'), text('seed: 1.5'),
    text('robots: ["' + 'a' * 99 + '"]'), text('!!python/object/apply:os.system [ls]'),
    text('robots: {ann: {odom: 7}}'),
]
SVG = [
    text('<svg'), text('<html></html>'), text('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    changed('points="', 'points="x,'), changed('points="', 'points="nan,1 '),
    changed('points="', 'points="1e999,1 '), changed('points="', 'points="1,'),
    changed('points="', 'points="1e9,1e9 '),
    text('<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><svg>&d;</svg>'),
]
WAYPOINTS = [text('1;2\n'), text('x,y\n'), text('1,2,3\n'), text('nan,nan\n'), text('1e999,1\n')]
POINTS = [
    lambda path, points=points: np.save(path.open('wb'), points)
    for points in (
        np.ones((3, 3)), np.zeros((0, 2)), np.full((3, 2), math.nan), np.full((3, 2), 'x'),
        np.ones(2), np.array([object()], object),
    )
]
TRAINED = [
    *CHECKPOINT[:5], *CHECKPOINT[6:14], *CHECKPOINT[16:], described(made={}),
    described(made={'training': 7}),
]


def same(path: Path) -> Path:
    return path


def mapper_of(path: Path) -> Mapper:
    mapper = default_mapper('ann')
    load_memory(path, mapper, Localization({name: o.default for name, o in ROBOT.items()}))
    return mapper


def make_memory(path: Path) -> None:
    mapper = default_mapper('ann')
    mapper.add_keyframe(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), ROOM)
    mapper.add_keyframe(1, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0), ROOM)
    mapper.begin(1, [])
    mapper.agent.advance()
    save_memory(path, mapper)


def make_map(path: Path) -> None:
    Image.fromarray(np.full((40, 40), 254, np.uint8)).save(path.with_suffix('.pgm'), 'PPM')
    path.write_text(
        'image: map.pgm\nmode: trinary\nresolution: 0.05\norigin: [0.0, 0.0, 0.0]\nnegate: 0\n'
        'occupied_thresh: 0.65\nfree_thresh: 0.196\n'
    )


def make_carmen(path: Path) -> None:
    ranges = ' '.join(['1.5'] * 180)
    path.write_text(f'FLASER 180 {ranges} 0 0 0 0 0 0 5.0 host 5.0\n')


def make_rover(path: Path) -> None:
    path.write_text(' '.join(['7'] * 710) + '\n')


def make_bag(path: Path) -> None:
    readings = tuple(Reading(5.0 + k, ROOM, (0.0, 0.0, 0.0)) for k in range(3))
    write_bag(Log('bag', readings), path.parent / 'bag')
    shutil.move(path.parent / 'bag' / 'bag.db3', path)


def make_svg(path: Path) -> None:
    wall = '<g class="Wall"><polygon points="{}"/></g>'
    walls = ''.join(
        wall.format(points) for points in (
            '0,0 500,0 500,20 0,20', '0,480 500,480 500,500 0,500', '0,0 20,0 20,500 0,500',
            '480,0 500,0 500,500 480,500',
        )
    )
    room = '<g class="Space Room"><polygon points="20,20 480,20 480,480 20,480"/></g>'
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><g class="Model"><g class="Floor" id="Floor">'
        f'<g class="Floorplan">{walls}{room}</g></g></g></svg>'
    )


def saved_of(load: Callable[[Path], Any], source: Path) -> Callable[[Path], object]:
    """Write what the package has in the present format."""
    return lambda path: load(source).save(path)


def make_trained(path: Path) -> None:
    checkpoint.load(packaged('regression') / 'seed0' / 'alone.npz').save(path)


def load_trained(path: Path) -> object:
    (path.parent / 'seed0').mkdir(exist_ok=True)
    if path.is_file():
        shutil.copy(path, path.parent / 'seed0' / 'alone.npz')
    run = TrainedRun('regression', path.parent)
    return run.made['training'].items()


def waypoints(path: Path) -> object:
    return load_waypoints(path, load_plan('generated:7').map)


# name of the file, how a good one is made, how it is read, what else can be wrong with it
LOADERS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object], list[Damage]]] = {
    'memory.npz': (make_memory, mapper_of, MEMORY),
    'mapping.npz': (saved_of(load_mapping, PACKAGED), load_mapping, [*MAPPING, *TABLES]),
    'decoder.npz': (
        saved_of(completion.load, completion.PACKAGED), completion.load,
        [*CHECKPOINT[:5], arrays(in_weight=None), arrays(in_weight=lambda w: w.T)],
    ),
    'any.npz': (saved_of(checkpoint.load, PACKAGED), checkpoint.load, CHECKPOINT[:5]),
    'trained.npz': (make_trained, load_trained, TRAINED),
    'map.yaml': (make_map, read_map, MAP),
    'room.log': (make_carmen, read_all, CARMEN),
    'rover.dat': (make_rover, read_all, [changed('7 7', 'nan 7'), changed('7 7', 'x')]),
    'bag.db3': (make_bag, read_all, []),
    'swarm.yaml': (text('robots: 2\nplan: generated:7\n'), read_description, DESCRIPTION),
    'plan.svg': (make_svg, load_plan, SVG),
    'way.csv': (text('1.0,2.0\n2.0,2.0\n'), waypoints, WAYPOINTS),
    'way.npy': (lambda p: np.save(p, np.array([[0.1, 0.2], [0.3, 0.4]])), waypoints, POINTS),
    'train.yaml': (text('seed: 3\n'), read_file, [text('[1]'), text('7'), text('a: b: c')]),
}
EMPTY = ANYWHERE[2]
CASES = [
    pytest.param(name, damage, id=f'{name}-{number}')
    for name, (_, _, own) in LOADERS.items()
    for number, damage in enumerate([*ANYWHERE, *own])
    # Settings and descriptions may be empty: all has defaults.
    if damage is not EMPTY or name not in ('swarm.yaml', 'train.yaml')
]


@pytest.mark.parametrize('name', LOADERS)
def test_a_good_file_is_read(name: str, tmp_path: Path) -> None:
    make, load, _ = LOADERS[name]
    make(tmp_path / name)
    load(tmp_path / name)


@pytest.mark.parametrize(('name', 'damage'), CASES)
@pytest.mark.filterwarnings('ignore')
def test_a_malformed_file_is_refused(name: str, damage: Damage, tmp_path: Path) -> None:
    make, load, _ = LOADERS[name]
    path = tmp_path / name
    make(path)
    damage(path)
    with pytest.raises((ValueError, UserError, OSError)) as caught:
        load(path)
    said = str(caught.value)
    assert str(tmp_path) in said
    assert '\n' not in said
    assert len(said) < 1000


@pytest.mark.parametrize('damage', MEMORY)
def test_a_mapper_stays_as_it_is_if_a_memory_does_not_fit(damage: Damage, tmp_path: Path) -> None:
    path = tmp_path / 'memory.npz'
    make_memory(path)
    mapper = mapper_of(path)
    before = mapper.state()
    damage(path)
    with pytest.raises(ValueError, match='memory'):
        load_memory(path, mapper, Localization({name: o.default for name, o in ROBOT.items()}))
    after = mapper.state()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    mapper.begin(2, [])  # and works
    mapper.agent.advance()

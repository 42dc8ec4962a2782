"""What a map costs follows the tiles that are known, however far apart they are."""

import re
import time
import tracemalloc

import numpy as np

from delama_ros.core.blocks import encode
from delama_ros.mapping import completion
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.extent import AREA, AREA_PER_TILE, extent
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan

EDGE = 1.2  # m of a tile
ROOM = Scan(np.full(360, 3.0), -np.pi, np.pi / 180, 0.05, 12.0)


def mapper_at(*places: tuple[float, float]) -> Mapper:
    mapper = default_mapper('ann')
    for x, y in places:
        mapper.add_scan(ROOM, (x, y, 0.0))
    mapper.begin(1, [])
    mapper.agent.advance()
    return mapper


def test_tiles_1200_m_apart_cost_no_more_than_two_rooms() -> None:
    mapper_at((0.0, 0.0)).completed(completion.packaged())  # compiles
    tracemalloc.start()
    began = time.thread_time()
    mapper = mapper_at((-1190.0, -1190.0), (1190.0, 1190.0), (1195.0, 1190.0))
    drawn, completed = mapper.occupancy(), mapper.completed(completion.packaged())
    seconds, memory = time.thread_time() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 0.5
    assert memory < 100e6
    for grid in (drawn, completed):
        assert max(grid.size) < 20.0
        assert grid.value_at(np.array([[1190.0, 1190.0]]))[0] in range(50)
    what, where = mapper.extent.problem.split(', the nearest at ')
    assert re.fullmatch(r'the map leaves out \d\d tiles far from the rest', what)
    assert re.fullmatch(r'x -118\d m, y -11[89]\d m', where)


def test_what_is_far_comes_back_when_it_is_connected() -> None:
    far = mapper_at((0.0, 0.0), (200.0, 200.0))
    assert far.extent.left_out > 0
    street = [(4.0 * k, 0.0) for k in range(51)] + [(200.0, 4.0 * k) for k in range(51)]
    near = mapper_at(*street)
    assert near.extent.left_out == 0
    assert near.extent.problem == ''
    assert min(near.occupancy().size) > 200.0


def test_a_long_tunnel_is_shown_but_nothing_300_m_beyond() -> None:
    tunnel = [(4.0 * k, 0.0) for k in range(201)]
    mapper = mapper_at(*tunnel)
    assert mapper.extent.left_out == 0
    assert max(mapper.occupancy().size) > 800.0
    mapper = mapper_at(*tunnel[:20], (400.0, 0.0))
    assert mapper.extent.left_out > 0
    assert max(mapper.occupancy().size) < 100.0


def test_the_rectangle_is_bounded_by_the_tiles_in_it() -> None:
    """Whatever peers say, 5,000 tiles anywhere among them."""
    rng = np.random.default_rng(0)
    own = np.stack(np.meshgrid(np.arange(20), np.arange(15)), -1).reshape(-1, 2)
    said = rng.integers(-1000, 1000, (5000, 2))
    keys = np.unique(np.concatenate([own, said]), axis=0).astype(np.int32)
    codes = np.sort(encode(keys))
    found = extent(codes, np.sort(encode(own.astype(np.int32))), EDGE)
    shown = keys[np.argsort(encode(keys))][found.shown].astype(np.int64)
    area = (shown.max(0) - shown.min(0) + 1).prod()
    assert area <= AREA + AREA_PER_TILE * len(shown)
    assert {*map(tuple, own.tolist())} <= {*map(tuple, shown.tolist())}
    assert found.left_out == len(codes) - len(shown)


def test_keys_at_the_ends_of_32_bits() -> None:
    ends = np.array([[-(2**31), -(2**31)], [0, 0], [2**31 - 1, 2**31 - 1]], np.int32)
    found = extent(np.sort(encode(ends)), np.sort(encode(ends[1:2])), EDGE)
    assert found.shown.tolist() == [False, True, False]


def test_a_large_map_is_completed_alike_in_pieces() -> None:
    mapper = mapper_at(*[(4.0 * k, 0.0) for k in range(12)])
    decoder = completion.packaged()
    view = completion.view_of(
        mapper.agent.memory[0], mapper.model.deviations(mapper.known.theta),
        mapper.known.evidence, mapper.model.bias,
    )
    pieces = decoder.logits(view)
    whole = view.logits + decoder._run(view.channels)
    assert max(whole.shape) > completion.PIECE + 2 * completion.unet.REACH
    assert np.allclose(pieces, whole, atol=1e-3)

"""Occupancy mapping as a task of DeLAMA: marks of scans, tiles of learned features, fusion, maps.

One robot maps a round room of 2 m radius from one scan:

>>> import numpy as np
>>> from delama_ros.mapping import Scan, default_mapper
>>> mapper = default_mapper('ann')
>>> mapper.add_scan(Scan(np.full(360, 2.0), 0.0, np.pi / 180, 0.1, 8.0), (0.0, 0.0, 0.0))
>>> messages = mapper.begin(1, [])  # to send; without neighbours nobody receives them
>>> while not mapper.agent.done:
...     messages = mapper.agent.advance()
>>> percent = mapper.occupancy().value_at(np.array([[0.5, 0.5], [2.05, 0.0], [9.0, 0.0]]))
>>> bool(percent[0] < 50), bool(percent[1] > 50), int(percent[2])  # free, wall, unknown
(True, True, -1)
"""

from delama_ros.mapping.checkpoint import Checkpoint, load
from delama_ros.mapping.completion import Decoder
from delama_ros.mapping.completion import packaged as packaged_decoder
from delama_ros.mapping.default import default_mapper, find, make_mapper, packaged
from delama_ros.mapping.fusion import Fusion
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan, within
from delama_ros.mapping.tiles import TileModel

__all__ = [
    'Checkpoint', 'Decoder', 'Fusion', 'Mapper', 'Scan', 'TileModel', 'default_mapper', 'find',
    'load', 'make_mapper', 'packaged', 'packaged_decoder', 'within',
]

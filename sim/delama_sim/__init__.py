"""Worlds for robot swarms: floor plans, LiDARs, exploration, odometry and radio, without ROS.

The names below are imported when they are used, so that a program which only reads plans stays
light.

Three robots map a generated flat for two steps:

>>> from delama_sim import load, mapping_run, prepare
>>> run = mapping_run(prepare(load('generated:flat:4'), seed=0), 0, robots=3, steps=2)
>>> run.poses.shape, run.ranges.shape == (2, 3, len(run.angles))
((2, 3, 3), True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from delama_sim.lidar import Lidar
    from delama_sim.motion import Body
    from delama_sim.odometry import Odometry, odometry_preset
    from delama_sim.plans import find, load
    from delama_sim.plans.generator import generate
    from delama_sim.plans.plan import Plan
    from delama_sim.protocol import MappingRun, Measurement, drive, mapping_run, prepare
    from delama_sim.radio import Links, Radio
    from delama_sim.rays import RayCaster
    from delama_sim.world import Scan, World

__all__ = [
    'Body', 'Lidar', 'Links', 'MappingRun', 'Measurement', 'Odometry', 'Plan', 'Radio',
    'RayCaster', 'Scan', 'World', 'drive', 'find', 'generate', 'load', 'mapping_run',
    'odometry_preset', 'prepare',
]

_HOMES = {
    'lidar': ('Lidar',),
    'motion': ('Body',),
    'odometry': ('Odometry', 'odometry_preset'),
    'plans': ('find', 'load'),
    'plans.generator': ('generate',),
    'plans.plan': ('Plan',),
    'protocol': ('MappingRun', 'Measurement', 'drive', 'mapping_run', 'prepare'),
    'radio': ('Links', 'Radio'),
    'rays': ('RayCaster',),
    'world': ('Scan', 'World'),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is used."""
    if name not in _HOME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_HOME[name]}'), name)


def __dir__() -> list[str]:
    """Return the public names, also those not imported yet."""
    return sorted({*globals(), *__all__})

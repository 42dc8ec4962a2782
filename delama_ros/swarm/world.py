"""The simulated world that a swarm description asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from delama_sim.lidar import Lidar
from delama_sim.plans import load
from delama_sim.plans.edit import thicken_walls
from delama_sim.radio import Radio
from delama_sim.world import World


def make_world(parameters: Mapping[str, Any]) -> World:
    """Build it from the parameters of the simulator node, with or without that node."""
    plan = load(parameters['plan']).map
    return World(
        thicken_walls(plan, parameters['thicken']) if parameters['thicken'] else plan,
        list(parameters['robots']),
        seed=parameters['seed'],
        lidar=Lidar(
            beams=parameters['beams'],
            range_max=parameters['range_max'],
            range_noise=parameters['range_noise'],
        ),
        radio=Radio(range=parameters['radio_range'] or math.inf, loss=parameters['radio_loss']),
        scan_rate=parameters['scan_rate'],
    )

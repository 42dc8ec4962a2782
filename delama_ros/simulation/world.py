"""Builds the simulated world from the parameters of the simulator node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from delama_ros.geometry.grid import Pose
from delama_ros.robot.parameters import NAME
from delama_sim.lidar import Lidar
from delama_sim.motion import Body
from delama_sim.odometry import odometry_preset
from delama_sim.paths import load_waypoints
from delama_sim.plans import load
from delama_sim.plans.edit import add_blocks, thicken_walls
from delama_sim.radio import Radio
from delama_sim.world import World


def make_world(options: dict[str, Any]) -> World:
    """Build the world; ValueError names the parameter that is wrong."""
    for name in options['robots']:
        if not NAME.fullmatch(name):
            raise ValueError(f'robots: {name!r} is not a ROS name (letters, digits, _)')
    preset = odometry_preset(options['odometry_preset'])
    maps = [load(spec.strip()).map for spec in options['plan'].split(',')]
    rng = np.random.default_rng([options['seed'], 0xB10C])
    maps = [thicken_walls(m, options['thicken_walls']) for m in maps]
    maps = [add_blocks(m, options['add_blocks'], rng) for m in maps]
    waypoints = {
        name: load_waypoints(file, maps[i % len(maps)])
        for i, (name, file) in enumerate(zip(options['robots'], options['waypoints'], strict=False))
        if file
    }
    return World(
        maps,
        options['robots'],
        seed=options['seed'],
        lidar=Lidar(
            beams=options['beams'],
            field_of_view=options['field_of_view'],
            range_min=options['range_min'],
            range_max=options['range_max'],
            range_noise=options['range_noise'],
            angle_noise=options['angle_noise'],
            dropout=options['dropout'],
            dropout_streak=options['dropout_streak'],
            range_bias=options['range_bias'],
            outliers=options['outliers'],
            sweep=options['sweep'],
            mount=_mount(options['laser_pose']),
            intensities=options['intensities'],
        ),
        body=Body(
            radius=options['robot_radius'],
            speed=options['robot_speed'],
            turn_rate=options['robot_turn_rate'],
        ),
        odometry=replace(
            preset,
            slip=preset.slip + options['odometry_slip'],
            turn_slip=preset.turn_slip + options['odometry_turn_slip'],
            scale=preset.scale + options['odometry_scale'],
        ),
        radio=Radio(
            range=options['radio_range'] or math.inf,
            wall=options['radio_wall'],
            fading=options['radio_fading'],
            loss=options['radio_loss'],
            across_buildings=options['radio_across_buildings'],
            chain=options['radio_chain'],
        ),
        scan_rate=options['scan_rate'],
        odometry_rate=options['odometry_rate'],
        radio_rate=options['radio_rate'],
        waypoints=waypoints,
        peers_visible=options['peers_visible'],
    )


def _mount(values: Sequence[float]) -> Pose:
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise ValueError(f'laser_pose is {list(values)}, expected finite x, y, yaw')
    x, y, yaw = values
    return float(x), float(y), float(yaw)

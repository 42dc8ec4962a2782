"""The description of a swarm: one YAML file, and the parameters of every node that follow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]{0,63}')


class DescriptionError(ValueError):
    """A wrong swarm description: the text names the key, the value and what is allowed."""


@dataclass(frozen=True)
class Lidar:
    """The simulated laser of each robot."""

    beams: int = 360
    range_max: float = 12.0  # m
    noise: float = 0.02  # m, standard deviation
    rate: float = 5.0  # Hz of simulated time


@dataclass(frozen=True)
class Radio:
    """Who hears whom in simulation."""

    range: float = 0.0  # m; 0: unlimited
    loss: float = 0.0  # share of messages lost, 0 .. 1


@dataclass(frozen=True)
class Swarm:
    """Everything that makes a run repeatable."""

    robots: tuple[str, ...] = tuple(f'robot{i}' for i in range(1, 6))
    plan: str = 'generated:7'
    thicken: float = 0.05  # m added to each side of the plan's walls
    seed: int = 7
    steps: int = 12
    period: float = 2.0  # s between time steps of DeLAMA
    deadline: float = 1.0  # s a round waits for neighbours that do not answer
    speed: float = 1.0  # simulated seconds per second
    encoding: str = 'int8'  # of the models on the air: int8 or float64
    lidar: Lidar = field(default_factory=Lidar)
    radio: Radio = field(default_factory=Radio)

    def __post_init__(self) -> None:
        for name in self.robots:
            if not NAME.fullmatch(name):
                raise DescriptionError(
                    f'robots: {name!r} is not a ROS name (a letter, then letters, digits, _)'
                )
        if not self.robots or len(set(self.robots)) < len(self.robots):
            raise DescriptionError(f'robots: {list(self.robots)}, expected different names')
        if self.encoding not in ('int8', 'float64'):
            raise DescriptionError(f'encoding: {self.encoding!r}, expected int8 or float64')
        above_zero = {
            'steps': self.steps,
            'period': self.period,
            'deadline': self.deadline,
            'speed': self.speed,
            'lidar.beams': self.lidar.beams,
            'lidar.range_max': self.lidar.range_max,
            'lidar.rate': self.lidar.rate,
        }
        for key, value in above_zero.items():
            if not value > 0:
                raise DescriptionError(f'{key}: {value}, expected a number above 0')
        not_negative = {
            'thicken': self.thicken,
            'lidar.noise': self.lidar.noise,
            'radio.range': self.radio.range,
            'radio.loss': self.radio.loss,
        }
        for key, value in not_negative.items():
            if not value >= 0:
                raise DescriptionError(f'{key}: {value}, expected 0 or more')
        if not self.radio.loss < 1:
            raise DescriptionError(f'radio.loss: {self.radio.loss}, expected a share below 1')
        if not 0 <= self.seed < 2**31:
            raise DescriptionError(f'seed: {self.seed}, expected 0 .. 2147483647')

    def simulator_parameters(self) -> dict[str, Any]:
        """Parameters of the simulator node."""
        return {
            'plan': self.plan,
            'thicken': self.thicken,
            'robots': list(self.robots),
            'seed': self.seed,
            'beams': self.lidar.beams,
            'range_max': self.lidar.range_max,
            'range_noise': self.lidar.noise,
            'scan_rate': self.lidar.rate,
            'speed': self.speed,
            'radio_range': self.radio.range,
            'radio_loss': self.radio.loss,
        }

    def robot_parameters(self, name: str) -> dict[str, Any]:
        """Parameters of the node of one robot."""
        return {
            'use_sim_time': True,
            'robot': name,
            'steps': self.steps,
            'period': self.period,
            'deadline': self.deadline,
            'encoding': self.encoding,
        }

    def to_yaml(self) -> str:
        """Write the description as a file that `read` takes."""
        return yaml.safe_dump({**asdict(self), 'robots': list(self.robots)}, sort_keys=False)


def read(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Swarm:
    """Read a description; `overrides` (top-level keys) win over the file."""
    try:
        content = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise DescriptionError(f'cannot read {path}: {error.strerror}') from error
    except yaml.YAMLError as error:
        raise DescriptionError(f'{path} is not YAML: {error}') from error
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise DescriptionError(f'{path} holds {content!r}, expected keys and values')
    return from_mapping({**content, **(overrides or {})})


def from_mapping(content: Mapping[str, Any]) -> Swarm:
    """Make a description of plain values; a number of robots stands for robot1, robot2, …."""
    values = dict(content)
    robots = values.get('robots')
    if isinstance(robots, int) and not isinstance(robots, bool):
        if robots < 1:
            raise DescriptionError(f'robots: {robots}, expected at least 1')
        values['robots'] = tuple(f'robot{i}' for i in range(1, robots + 1))
    elif robots is not None:
        if not isinstance(robots, list | tuple) or not all(isinstance(r, str) for r in robots):
            raise DescriptionError(f'robots: {robots!r}, expected a number or a list of names')
        values['robots'] = tuple(robots)
    for key, kind in (('lidar', Lidar), ('radio', Radio)):
        if key in values and not isinstance(values[key], kind):
            values[key] = _checked(kind, values[key], f'{key}.')
    swarm: Swarm = _checked(Swarm, values, '')
    return swarm


def _checked(kind: Any, values: Any, prefix: str) -> Any:
    """Build the dataclass `kind`; refuse unknown keys and wrong types by name."""
    if not isinstance(values, Mapping):
        raise DescriptionError(f'{prefix[:-1]}: {values!r}, expected keys and values')
    allowed = {f.name: str(f.type) for f in fields(kind)}
    converted = dict(values)
    for key, value in values.items():
        if key not in allowed:
            raise DescriptionError(
                f'{prefix}{key} is not known, expected one of: {", ".join(allowed)}'
            )
        wanted = allowed[key]
        if wanted == 'float' and isinstance(value, int) and not isinstance(value, bool):
            converted[key] = float(value)
        elif wanted in ('int', 'float', 'str') and type(value).__name__ != wanted:
            raise DescriptionError(f'{prefix}{key}: {value!r}, expected {wanted}')
    return kind(**converted)

"""The description of a swarm: one YAML file, and the parameters of every node that follow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from delama_ros.swarm.options import SIMULATOR

NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]{0,63}')


# Parameters that simulator and robots must agree on.
COMMON = ('map_frame', 'swarm', 'namespaced_tf')


class DescriptionError(ValueError):
    """A wrong swarm description: the text names the key, the value and what is allowed."""


@dataclass(frozen=True)
class Swarm:
    """Everything that makes a run repeatable."""

    robots: tuple[str, ...] = tuple(f'robot{i}' for i in range(1, 6))
    plan: str = 'generated:4'
    seed: int = 4
    steps: int = 12
    period: float = 2.0  # s between time steps of DeLAMA
    deadline: float = 1.0  # s a round waits for neighbours that do not answer
    encoding: str = 'delta'  # of the models on the air: delta or float64
    # Other parameters of the simulator node, by name.
    simulator: Mapping[str, Any] = field(default_factory=lambda: {'thicken_walls': 0.05})

    def __post_init__(self) -> None:
        for name in self.robots:
            if not NAME.fullmatch(name):
                raise DescriptionError(
                    f'robots: {name!r} is not a ROS name (a letter, then letters, digits, _)'
                )
        if not self.robots or len(set(self.robots)) < len(self.robots):
            raise DescriptionError(f'robots: {list(self.robots)}, expected different names')
        if self.encoding not in ('delta', 'float64'):
            raise DescriptionError(f'encoding: {self.encoding!r}, expected delta or float64')
        for key in ('steps', 'period', 'deadline'):
            if not getattr(self, key) > 0:
                raise DescriptionError(f'{key}: {getattr(self, key)}, expected a number above 0')
        for key, value in self.simulator_parameters().items():
            _check_option(key, value)

    def simulator_parameters(self) -> dict[str, Any]:
        """Parameters of the simulator node."""
        named = {'plan': self.plan, 'seed': self.seed, 'robots': list(self.robots)}
        return {**self.simulator, **named}

    def robot_parameters(self, name: str) -> dict[str, Any]:
        """Parameters of the node of one robot."""
        return {
            **{key: self.simulator[key] for key in COMMON if key in self.simulator},
            'use_sim_time': True,
            'robot': name,
            'steps': self.steps,
            'period': self.period,
            'deadline': self.deadline,
            'encoding': self.encoding,
        }

    def to_yaml(self) -> str:
        """Write the description as a file that `read` takes."""
        plain = {**asdict(self), 'robots': list(self.robots), 'simulator': dict(self.simulator)}
        return yaml.safe_dump(plain, sort_keys=False)


def read(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Swarm:
    """Read a description; `overrides` (top-level keys) win over the file."""
    try:
        content = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise DescriptionError(f'cannot read {path}: {error.strerror}') from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
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
    allowed = {f.name: str(f.type) for f in fields(Swarm)}
    for key, value in values.items():
        if key not in allowed:
            raise DescriptionError(f'{key} is not known, expected one of: {", ".join(allowed)}')
        values[key] = _typed(key, value, allowed[key].partition('[')[0])
    return Swarm(**values)


def _check_option(name: str, value: Any) -> None:
    """Refuse what the simulator node would refuse."""
    if name not in SIMULATOR:
        raise DescriptionError(
            f'simulator.{name} is not known, expected one of: {", ".join(SIMULATOR)}'
        )
    option = SIMULATOR[name]
    typed = _typed(f'simulator.{name}', value, type(option.default).__name__)
    if isinstance(typed, int | float) and not option.low <= typed <= option.high:
        raise DescriptionError(
            f'simulator.{name}: {value}, expected {option.low:g} .. {option.high:g}'
        )


def _typed(key: str, value: Any, kind: str) -> Any:
    """Give the value as the type of that name; whole numbers may stand for others."""
    if kind == 'float' and type(value) is int:
        return float(value)
    kinds = {'Mapping': 'dict', 'tuple': 'tuple'}
    if type(value).__name__ != kinds.get(kind, kind):
        raise DescriptionError(f'{key}: {value!r}, expected {kinds.get(kind, kind)}')
    return value

"""The description of a swarm: one YAML file, and the parameters of every node that follow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from delama_ros.swarm.options import REPLAY, ROBOT, SIMULATOR, Option

NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]{0,63}')

# Parameters that robots and what gives them their scans must agree on.
COMMON = ('map_frame', 'swarm', 'namespaced_tf')
# Topics of a robot that may have another name.
TOPICS = ('scan', 'odom', 'map')


class DescriptionError(ValueError):
    """A wrong swarm description: the text names the key, the value and what is allowed."""


@dataclass(frozen=True)
class Swarm:
    """Everything that makes a run repeatable.

    Scans come from a simulator (plan), from recordings (logs), or, with neither, from real robots.
    """

    robots: tuple[str, ...] = tuple(f'robot{i}' for i in range(1, 6))
    plan: str = 'generated:4'
    logs: tuple[str, ...] = ()  # bags or CARMEN logs, in the order of robots, or one for all
    seed: int = 4
    steps: int = 12  # 0: no end
    period: float = 2.0  # s between time steps of DeLAMA
    deadline: float = 1.0  # s a round waits for neighbours that do not answer
    encoding: str = 'delta'  # of the models on the air: delta or float64
    checkpoint: str = ''  # file of the learned features; empty: the one in the package
    # Other parameters of the simulator or the replay node, by name.
    simulator: Mapping[str, Any] = field(default_factory=lambda: {'thicken_walls': 0.05})
    replay: Mapping[str, Any] = field(default_factory=dict)
    # Topics (scan, odom, map) and parameters of single robots.
    each: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.robots:
            if not NAME.fullmatch(name):
                raise DescriptionError(
                    f'robots: {name!r} is not a ROS name (a letter, then letters, digits, _)'
                )
        if not self.robots or len(set(self.robots)) < len(self.robots):
            raise DescriptionError(f'robots: {list(self.robots)}, expected different names')
        if self.plan and self.logs:
            raise DescriptionError(f'plan: {self.plan!r} beside logs, expected one of them')
        if self.encoding not in ('delta', 'float64'):
            raise DescriptionError(f'encoding: {self.encoding!r}, expected delta or float64')
        for key in ('period', 'deadline'):
            if not getattr(self, key) > 0:
                raise DescriptionError(f'{key}: {getattr(self, key)}, expected a number above 0')
        if self.steps < 0 or (self.plan and not self.steps):
            raise DescriptionError(f'steps: {self.steps}, expected a number above 0')
        if not set(self.each) <= set(self.robots):
            raise DescriptionError(f'each: {list(self.each)}, robots are {list(self.robots)}')
        self.simulator_parameters(), self.replay_parameters()  # these look at all values
        for name in self.each:
            self.robot_parameters(name), self.remappings(name)

    @property
    def source(self) -> str:
        """Name of the node that gives the scans: simulator, replay, or none for real robots."""
        return 'simulator' if self.plan else 'replay' if self.logs else ''

    def source_parameters(self) -> dict[str, Any]:
        """Parameters of that node."""
        return self.simulator_parameters() if self.plan else self.replay_parameters()

    def simulator_parameters(self) -> dict[str, Any]:
        """Parameters of the simulator node."""
        named = {'plan': self.plan, 'seed': self.seed, 'robots': list(self.robots)}
        return _checked('simulator', {**self.simulator, **named}, SIMULATOR)

    def replay_parameters(self) -> dict[str, Any]:
        """Parameters of the replay node."""
        named = {'logs': list(self.logs) or [''], 'robots': list(self.robots)}
        return _checked('replay', {**self.replay, **named}, REPLAY)

    def robot_parameters(self, name: str) -> dict[str, Any]:
        """Parameters of the node of one robot."""
        given = self.simulator if self.plan else self.replay
        own = self.each.get(name, {})
        simulated = _typed(
            f'robots.{name}.use_sim_time', own.get('use_sim_time', bool(self.source)), 'bool'
        )
        parameters = {
            **{key: given[key] for key in COMMON if key in given},
            'robot': name,
            'steps': self.steps,
            'period': self.period,
            'deadline': self.deadline,
            'encoding': self.encoding,
            'checkpoint': self.checkpoint,
            **{key: own[key] for key in own if key not in (*TOPICS, 'use_sim_time')},
        }
        return {'use_sim_time': simulated, **_checked(f'robots.{name}', parameters, ROBOT)}

    def remappings(self, name: str) -> list[tuple[str, str]]:
        """Topics of one robot that have another name."""
        own = self.each.get(name, {})
        return [
            (topic, _typed(f'robots.{name}.{topic}', own[topic], 'str'))
            for topic in TOPICS
            if topic in own
        ]

    def to_yaml(self) -> str:
        """Write the description as a file that `read` takes."""
        plain = {**asdict(self), 'logs': list(self.logs)}
        each = plain.pop('each')
        plain['robots'] = {n: each.get(n, {}) for n in self.robots} if each else [*self.robots]
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
    elif isinstance(robots, dict):
        each = {name: {} if value is None else value for name, value in robots.items()}
        for name, settings in each.items():
            _typed(f'robots.{name}', settings, 'dict')
        values |= {'robots': tuple(map(str, each)), 'each': each}
    elif robots is not None:
        if not isinstance(robots, list | tuple) or not all(isinstance(r, str) for r in robots):
            raise DescriptionError(
                f'robots: {robots!r}, expected a number, a list of names, or names with settings'
            )
        values['robots'] = tuple(robots)
    if isinstance(values.get('logs'), list):
        values['logs'] = tuple(values['logs'])
    if values.get('logs'):
        values.setdefault('plan', '')
    allowed = {f.name: str(f.type) for f in fields(Swarm)}
    for key, value in values.items():
        if key not in allowed:
            raise DescriptionError(f'{key} is not known, expected one of: {", ".join(allowed)}')
        values[key] = _typed(key, value, allowed[key].partition('[')[0])
    return Swarm(**values)


def _checked(
    part: str, values: Mapping[str, Any], options: Mapping[str, Option]
) -> dict[str, Any]:
    """Give the values as the node takes them; refuse what it would refuse."""
    typed = {}
    for name, value in values.items():
        if name not in options:
            raise DescriptionError(
                f'{part}.{name} is not known, expected one of: {", ".join(options)}'
            )
        option = options[name]
        typed[name] = number = _typed(f'{part}.{name}', value, type(option.default).__name__)
        if isinstance(number, list) and isinstance(option.default[0], float):
            typed[name] = [_typed(f'{part}.{name}', item, 'float') for item in number]
        if isinstance(number, int | float) and not option.low <= number <= option.high:
            raise DescriptionError(
                f'{part}.{name}: {value}, expected {option.low:g} .. {option.high:g}'
            )
    return typed


def _typed(key: str, value: Any, kind: str) -> Any:
    """Give the value as the type of that name; whole numbers may stand for others."""
    if kind == 'float' and type(value) is int:
        return float(value)
    kinds = {'Mapping': 'dict', 'tuple': 'tuple'}
    if type(value).__name__ != kinds.get(kind, kind):
        raise DescriptionError(f'{key}: {value!r}, expected {kinds.get(kind, kind)}')
    return value

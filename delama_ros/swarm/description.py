"""The description of a swarm: one YAML file from which the parameters of every node follow.

Keys of a description are what makes up the swarm (robots, plan, logs, seed) and any parameter of
the robot node, which then applies to all robots. The sections `simulator` and `replay` take
parameters of these nodes, `overrides` takes topics and parameters of single robots. Names, types,
ranges and defaults are those of `delama_ros.robot.parameters`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from delama_ros.resources import resource
from delama_ros.robot.parameters import (
    NAME,
    REPLAY,
    ROBOT,
    SIMULATOR,
    Option,
    check,
    uncertainty_option,
)

# Parameters that robots and the source of their scans must agree on.
COMMON = ('map_frame', 'swarm', 'namespaced_tf')
# Topics of a robot that may be remapped.
TOPICS = ('scan', 'odom', 'map')
# Keys besides the parameters of the robot node, with their types.
KEYS = {
    'robots': tuple, 'plan': str, 'logs': tuple, 'seed': int, 'starts': str,
    'simulator': dict, 'replay': dict, 'overrides': dict,
}
STEPS = 12  # of a simulated swarm
STARTS = ('exact', 'rough', 'unknown')
ROUGH = 0.2, 0.052  # m and rad (3°), standard deviations of rough starts
SIMULATED = {'thicken_walls': 0.05, 'odometry_preset': 'turtlebot'}
MOST_ROBOTS = 1000


class DescriptionError(ValueError):
    """A wrong swarm description: the text names the key, the value and what is expected."""


@dataclass(frozen=True)
class Swarm:
    """Everything that makes a run repeatable.

    Scans come from a simulator (plan), from recordings (logs), or, with neither, from real robots.
    """

    robots: tuple[str, ...] = tuple(f'robot{i}' for i in range(1, 6))
    plan: str = 'generated:4'
    logs: tuple[str, ...] = ()  # bags or CARMEN logs, in the order of robots, or one for all
    seed: int = 4
    starts: str = 'exact'  # what simulated robots know of where they start
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of all robots
    simulator: Mapping[str, Any] = field(default_factory=lambda: dict(SIMULATED))
    replay: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of single robots

    def __post_init__(self) -> None:
        for name in self.robots:
            if not NAME.fullmatch(name):
                raise DescriptionError(
                    f'robots: {name!r} is not a ROS name (a letter, then letters, digits, _)'
                )
        if not self.robots or len(set(self.robots)) < len(self.robots):
            raise DescriptionError(f'robots: {list(self.robots)}, expected different names')
        if self.starts not in STARTS:
            raise DescriptionError(f'starts: {self.starts!r}, expected one of {list(STARTS)}')
        if self.plan and self.logs:
            raise DescriptionError(f'plan: {self.plan!r} beside logs, expected one of them')
        if not set(self.overrides) <= set(self.robots):
            raise DescriptionError(
                f'overrides: {list(self.overrides)}, expected some of {list(self.robots)}'
            )
        _checked('', self.parameters, ROBOT)
        if self.plan and not self.steps:
            raise DescriptionError('steps: 0, expected a number above 0')
        self.simulator_parameters(), self.replay_parameters()  # these check all values
        for name in self.robots:
            try:
                check(self.robot_parameters(name))
            except ValueError as error:
                raise DescriptionError(str(error)) from error
            self.remappings(name)
        modes = {self.robot_parameters(name)['localization'] for name in self.robots}
        if self.free and modes != {'slam'}:
            raise DescriptionError(
                f'starts: {self.starts!r} with localization {sorted(modes)}, expected slam'
            )

    @property
    def steps(self) -> int:
        """Number of time steps, 0 for no limit."""
        return int(self.parameters.get('steps', STEPS if self.plan else 0))

    @property
    def period(self) -> float:
        """Seconds between time steps."""
        return float(self.parameters.get('period', ROBOT['period'].default))

    @property
    def free(self) -> bool:
        """Whether simulated robots begin in frames of their own: starts that are not exact."""
        rough = any(map(self.start_uncertainty, self.robots))
        return bool(self.plan) and (self.starts != 'exact' or rough)

    def start_uncertainty(self, name: str) -> tuple[float, float] | None:
        """Return the standard deviations of a robot's start, m and rad; None if it is exact."""
        given = self.robot_parameters(name).get('start_uncertainty')
        if given is None:
            return ROUGH if self.starts == 'rough' else None
        return uncertainty_option({'start_uncertainty': given})

    @property
    def source(self) -> str:
        """Name of the node that provides the scans: simulator, replay, or '' for real robots."""
        return 'simulator' if self.plan else 'replay' if self.logs else ''

    def source_parameters(self) -> dict[str, Any]:
        """Return the parameters of that node."""
        return self.simulator_parameters() if self.plan else self.replay_parameters()

    def simulator_parameters(self) -> dict[str, Any]:
        """Return the parameters of the simulator node."""
        fixed = {'plan': self.plan, 'seed': self.seed, 'robots': list(self.robots)}
        modes = {self.robot_parameters(name)['localization'] for name in self.robots}
        derived = {**self._common(), 'ground_truth_tf': 'tf' in modes}
        return _checked('simulator.', {**derived, **self.simulator, **fixed}, SIMULATOR)

    def replay_parameters(self) -> dict[str, Any]:
        """Return the parameters of the replay node."""
        fixed = {'logs': list(self.logs) or [''], 'robots': list(self.robots)}
        common = {key: value for key, value in self._common().items() if key in REPLAY}
        return _checked('replay.', {**common, **self.replay, **fixed}, REPLAY)

    def robot_parameters(self, name: str) -> dict[str, Any]:
        """Return the parameters of the node of one robot."""
        section = self.simulator if self.plan else self.replay
        own = self.overrides.get(name, {})
        simulated = _typed(
            f'overrides.{name}.use_sim_time', own.get('use_sim_time', bool(self.source)), bool
        )
        parameters = {
            **{key: section[key] for key in COMMON if key in section},
            'robot': name,
            'steps': self.steps,
            # Whose scans are simulated or replayed is known, so that nobody has to find out.
            'localization': {'simulator': 'slam', 'replay': 'tf'}.get(self.source, 'auto'),
            'simulated_radio': self.source == 'simulator',
            **self.parameters,
            **{key: own[key] for key in own if key not in (*TOPICS, 'use_sim_time')},
        }
        return {'use_sim_time': simulated, **_checked(f'overrides.{name}.', parameters, ROBOT)}

    def remappings(self, name: str) -> list[tuple[str, str]]:
        """Return the topics of one robot that have another name."""
        own = self.overrides.get(name, {})
        return [
            (topic, _typed(f'overrides.{name}.{topic}', own[topic], str))
            for topic in TOPICS
            if topic in own
        ]

    def to_yaml(self) -> str:
        """Return the description as a file that `read` accepts."""
        plain: dict[str, Any] = {key: getattr(self, key) for key in KEYS}
        plain |= {key: list(plain[key]) for key in ('robots', 'logs')}
        overrides = {name: dict(values) for name, values in self.overrides.items()}
        plain |= {'simulator': dict(self.simulator), 'replay': dict(self.replay)}
        plain |= {'overrides': overrides, **self.parameters}
        return yaml.safe_dump(plain, sort_keys=False)

    def _common(self) -> dict[str, Any]:
        return {key: self.parameters[key] for key in COMMON if key in self.parameters}


def read(path: str | Path, changes: Mapping[str, Any] | None = None) -> Swarm:
    """Read a description; the keys of `changes` replace those of the file.

    A name without a folder may also be that of a file in the package's config folder.
    """
    file = Path(path)
    if not file.exists() and file.name == str(path):
        with suppress(FileNotFoundError):
            file = resource(f'config/{path}')
    try:
        content = yaml.safe_load(file.read_text())
    except OSError as error:
        raise DescriptionError(f'cannot read {path}: {error.strerror}') from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DescriptionError(f'{path} is not YAML: {" ".join(str(error).split())}') from error
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise DescriptionError(f'{path} holds {content!r}, expected keys and values')
    try:
        return from_mapping({**content, **(changes or {})})
    except DescriptionError:
        if changes:  # which may be wrong rather than the file
            with_file(path, content)
            raise
        return with_file(path, content)


def with_file(path: str | Path, content: Mapping[str, Any]) -> Swarm:
    """Build a description from the values of a file; errors name the file."""
    try:
        return from_mapping(content)
    except DescriptionError as error:
        raise DescriptionError(f'{path}: {error}') from error


def from_mapping(content: Mapping[str, Any]) -> Swarm:
    """Build a description from plain values.

    `robots: 2` stands for robot1 and robot2; `robots: {ann: {reach: 5.0}}` for a robot with
    overrides.
    """
    values = dict(content)
    robots = values.get('robots')
    if isinstance(robots, int) and not isinstance(robots, bool):
        if robots < 1:
            raise DescriptionError(f'robots: {robots}, expected at least 1')
        if robots > MOST_ROBOTS:
            raise DescriptionError(f'robots: {robots}, expected at most {MOST_ROBOTS}')
        values['robots'] = tuple(f'robot{i}' for i in range(1, robots + 1))
    elif isinstance(robots, dict):
        values['robots'] = tuple(map(str, robots))
        values['overrides'] = {**robots, **values.get('overrides', {})}
    elif robots is not None:
        if not isinstance(robots, list | tuple) or not all(isinstance(r, str) for r in robots):
            raise DescriptionError(
                f'robots: {robots!r}, expected a number, a list of names, or names with overrides'
            )
        values['robots'] = tuple(robots)
    if isinstance(values.get('logs'), list):
        values['logs'] = tuple(_typed('logs', log, str) for log in values['logs'])
    if values.get('logs'):
        values.setdefault('plan', '')
    if isinstance(values.get('overrides'), dict):
        values['overrides'] = {
            name: _typed(f'overrides.{name}', {} if value is None else value, dict)
            for name, value in values['overrides'].items()
        }
    parameters = {name: values.pop(name) for name in ROBOT if name in values and name != 'robot'}
    for key, value in values.items():
        if key not in KEYS:
            known = [*KEYS, *(name for name in ROBOT if name != 'robot')]
            raise DescriptionError(f'{key} is not known, expected one of: {", ".join(known)}')
        _typed(key, value, KEYS[key])
    return Swarm(**values, parameters=_checked('', parameters, ROBOT))


def _checked(
    part: str, values: Mapping[str, Any], options: Mapping[str, Option]
) -> dict[str, Any]:
    """Return the values with the types of the parameters; reject what the node would reject."""
    typed = {}
    for name, value in values.items():
        if name not in options:
            raise DescriptionError(
                f'{part}{name} is not known, expected one of: {", ".join(options)}'
            )
        option = options[name]
        typed[name] = number = _typed(f'{part}{name}', value, type(option.default))
        if isinstance(number, list) and isinstance(option.default[0], float):
            typed[name] = [_typed(f'{part}{name}', item, float) for item in number]
        if isinstance(number, int | float) and not option.low <= number <= option.high:
            raise DescriptionError(
                f'{part}{name}: {value}, expected {option.low:g} .. {option.high:g}'
            )
    return typed


def _typed(key: str, value: Any, kind: type) -> Any:
    """Return the value if it has this type; an integer may stand for a float."""
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise DescriptionError(f'{key}: {value!r}, expected {kind.__name__}')
    return value

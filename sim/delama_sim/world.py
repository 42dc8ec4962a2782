"""The world: buildings, robots with LiDARs and odometry, radio links, and one seeded clock."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from delama_ros.geometry.grid import Floats, Ints, OccupancyMap, Pose
from delama_sim.explore import Explorer
from delama_sim.lidar import Lidar, Ranges
from delama_sim.motion import Body
from delama_sim.odometry import Odometry, OdometryState
from delama_sim.paths import Waypoints, start_poses
from delama_sim.planner import Planner
from delama_sim.plans.plan import Plan
from delama_sim.radio import Links, Radio, RadioState
from delama_sim.rays import RayCaster
from delama_sim.robot import Drive

NANO = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Scan:
    """What one LiDAR reports."""

    robot: str
    stamp: int  # ns of simulated time, of the first beam
    ranges: Ranges  # (beams,) m, +inf and -inf as in REP-117
    intensities: Ranges | None


class World:
    """Everything the robots live in; node, training and evaluation all use this one interface.

    `advance(seconds)` lets time pass and returns the scans taken meanwhile. All of it depends on
    the seed alone, not on the steps time is cut into. Robots see each other but do not make way
    for each other.
    """

    def __init__(
        self,
        plans: Plan | OccupancyMap | Sequence[Plan | OccupancyMap],
        robots: int | Sequence[str] | Mapping[str, int],
        *,
        seed: int = 0,
        lidar: Lidar | None = None,
        body: Body | None = None,
        odometry: Odometry | None = None,
        radio: Radio | None = None,
        scan_rate: float = 5.0,
        odometry_rate: float = 20.0,
        radio_rate: float = 2.0,
        starts: Mapping[str, Pose] | None = None,
        waypoints: Mapping[str, npt.ArrayLike] | None = None,
        peers_visible: bool = True,
    ) -> None:
        """Build the world and place the robots.

        Args:
            plans: one building or several, each a map in its own frame; poses are in the frame of
                the robot's building.
            robots: a number, names (spread over the buildings in turn) or name → building.
            seed: of starts, ways and all noise.
            lidar: the sensor of every robot.
            body: the shape and the speed of every robot.
            odometry: error model; perfect by default.
            radio: which robots receive each other; all by default.
            scan_rate: Hz.
            odometry_rate: Hz.
            radio_rate: Hz at which links change.
            starts: pose by name; random for the others.
            waypoints: (n, 2) by name, to drive to in turn; the others explore.
            peers_visible: whether beams end on other robots.

        Raises:
            ValueError: if something does not fit, such as an unknown name or a rate that is not
                above 0.
        """
        buildings = [plans] if isinstance(plans, Plan | OccupancyMap) else list(plans)
        if not buildings:
            raise ValueError('a world needs at least one plan')
        self.maps = [p.map if isinstance(p, Plan) else p for p in buildings]
        home = _homes(robots, len(buildings))
        self.names = tuple(home)
        self.building: Ints = np.array(list(home.values()), np.int64)  # (N,)
        self.lidar, self.body = lidar or Lidar(), body or Body()
        self._odometry_model, self._radio_model = odometry or Odometry(), radio or Radio()
        self._periods = {
            'odometry': _period('odometry_rate', odometry_rate),
            'radio': _period('radio_rate', radio_rate),
            'scan': _period('scan_rate', scan_rate),
        }
        if self.lidar.sweep > self._periods['scan'] / NANO:
            raise ValueError(
                f'lidar sweep is {self.lidar.sweep} s, expected at most one scan period, '
                f'{self._periods["scan"] / NANO} s'
            )
        self._fixed_starts, self._waypoints = dict(starts or {}), dict(waypoints or {})
        for known in (self._fixed_starts, self._waypoints):
            for name in known:
                if name not in home:
                    raise ValueError(f'there is no robot {name!r}, robots are {self.names}')
        self._peers_visible = peers_visible
        self._casters = [RayCaster(m) for m in self.maps]
        self._planners = [Planner(m, self.body.radius) for m in self.maps]
        self.seed = seed
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Start again at time 0, with the same seed or another."""
        self.seed = self.seed if seed is None else seed
        self.time = 0  # ns
        self._drives: list[Drive] = []
        starts = start_poses(
            self._planners,
            self.building,
            self.body.radius,
            self._rng('starts'),
            [self._fixed_starts.get(name) for name in self.names],
        )
        for name, building, start in zip(self.names, self.building, starts, strict=True):
            planner = self._planners[building]
            leg = (
                Waypoints(planner, start[:2], self._waypoints[name]).next_leg
                if name in self._waypoints
                else Explorer(planner, start[:2], self._rng('way', name)).next_leg
            )
            self._drives.append(Drive(start, leg, self.body))
        self._noise = [self._rng('lidar', name) for name in self.names]
        self._odometry = [
            OdometryState(self._odometry_model, start, self._rng('odometry', name))
            for name, start in zip(self.names, starts, strict=True)
        ]
        self._radio = RadioState(
            self._radio_model,
            self._casters,
            self.building,
            self._periods['radio'] / NANO,
            self._rng('radio'),
        )
        self.links: Links = self._radio.links(self.poses)

    @property
    def poses(self) -> Floats:
        """True poses (N, 3) now."""
        return np.stack([drive.pose_at(self.time / NANO) for drive in self._drives])

    @property
    def speeds(self) -> Floats:
        """True forward speeds and turn rates (N, 2) now."""
        return np.array([drive.speed_at(self.time / NANO) for drive in self._drives])

    @property
    def odometry(self) -> Floats:
        """Odometry poses (N, 3), each in its robot's odom frame, at the last tick."""
        return np.stack([o.pose for o in self._odometry])

    def corrections(self) -> Floats:
        """Return where the odom frames truly are in the map, (N, 3): a perfect localization."""
        return np.stack([state.correction() for state in self._odometry])

    def advance(self, seconds: float) -> list[Scan]:
        """Let time pass.

        Args:
            seconds: of simulated time.

        Returns:
            The scans taken meanwhile, in order of time and robot.
        """
        return self.advance_to(self.time + round(seconds * NANO))

    def next_event(self) -> int:
        """Return the time in ns of the next scan, odometry or radio tick."""
        return min(self.time // p * p + p for p in self._periods.values())

    def advance_to(self, time: int) -> list[Scan]:
        """Let time pass until a point in time.

        Args:
            time: ns since the start.

        Returns:
            The scans taken on the way, in order of time and robot.

        Raises:
            ValueError: if the time is past.
        """
        if time < self.time:
            raise ValueError(f'time cannot run back from {self.time} to {time} ns')
        scans: list[Scan] = []
        while (tick := self.next_event()) <= time:
            self.time = tick
            poses = self.poses
            due = {what for what, period in self._periods.items() if tick % period == 0}
            self._track(poses)  # at every tick, so that odometry is as old as any scan
            if 'radio' in due:
                self.links = self._radio.links(poses)
            if 'scan' in due:
                scans += self._scan(poses)
        self.time = time
        return scans

    def scan(self) -> list[Scan]:
        """Return one scan of every robot, here and now."""
        return self._scan(self.poses)

    def _track(self, poses: Floats) -> None:
        for state, pose in zip(self._odometry, poses, strict=True):
            state.move_to(pose)

    def _scan(self, poses: Floats) -> list[Scan]:
        """Scan once; a sweep that takes time ends now, and peers are seen where they are now."""
        stamp, places = self.time, poses
        if self.lidar.sweep > 0:
            stamp = max(0, self.time - round(self.lidar.sweep * NANO))
            ago = self.lidar.time_increment * np.arange(self.lidar.beams) - self.lidar.sweep
            times = np.maximum(self.time / NANO + ago, 0.0)  # (beams,)
            places = np.stack([drive.poses_at(times) for drive in self._drives])
        ranges: dict[int, tuple[Ranges, Ranges | None]] = {}
        for index, caster in enumerate(self._casters):
            here = np.flatnonzero(self.building == index)
            if not len(here):
                continue
            discs = np.column_stack([poses[here, :2], np.full(len(here), self.body.radius)])
            seen, strength = self.lidar.scan(
                caster,
                places[here],
                [self._noise[i] for i in here],
                discs=discs if self._peers_visible and len(here) > 1 else None,
                own=np.arange(len(here)),
            )
            for k, i in enumerate(here):
                ranges[int(i)] = seen[k], None if strength is None else strength[k]
        return [Scan(name, stamp, *ranges[i]) for i, name in enumerate(self.names)]

    def _rng(self, purpose: str, name: str = '') -> np.random.Generator:
        """Return a stream of its own for each purpose and robot, so that none disturbs another."""
        return np.random.default_rng(
            [self.seed, zlib.crc32(purpose.encode()), zlib.crc32(name.encode())]
        )


def _homes(robots: int | Sequence[str] | Mapping[str, int], buildings: int) -> dict[str, int]:
    """Name each robot and the building it is in."""
    if isinstance(robots, int):
        robots = [f'robot{i + 1}' for i in range(robots)]
    if not isinstance(robots, Mapping):
        if len(set(robots)) != len(robots):
            raise ValueError(f'robot names {list(robots)} are not all different')
        robots = {name: i % buildings for i, name in enumerate(robots)}
    if not robots:
        raise ValueError('a world needs at least one robot')
    for name, building in robots.items():
        if not 0 <= building < buildings:
            raise ValueError(
                f'robot {name!r} is in building {building}, expected 0..{buildings - 1}'
            )
    return dict(robots)


def _period(name: str, rate: float) -> int:
    """Nanoseconds of a rate in Hz."""
    if not (math.isfinite(rate) and 0 < rate <= 1000):
        raise ValueError(f'{name} is {rate} Hz, expected more than 0 and at most 1000')
    return round(NANO / rate)

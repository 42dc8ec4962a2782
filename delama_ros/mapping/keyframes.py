"""Keyframes of a map: scans whose evidence can be moved when SLAM corrects their poses.

The memory is a sum over scans, so a scan that was seen from another pose than was believed is
subtracted where it was and added where it belongs. A revision of learned keyframes is, per tile n,

    ΔA_n = Σ_k s_kn (H_n(k, new pose) − H_n(k, old pose)),   and alike Δb_n and the evidence,

where s_kn = F_n(now)/F_n(k) is what forgetting has left of evidence learned with keyframe k in tile
n, and F_n the product of all factors by which the tile has faded (1 without forgetting). The result
is the memory that the robot would have, had keyframe k had its new pose while tiles faded as they
did. Sums are in float64, so that a keyframe that moves and comes back leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from delama_ros.core.array_file import check_arrays
from delama_ros.core.blocks import Blocks, Codes, Floats, Keys, decode, encode
from delama_ros.geometry.grid import Pose
from delama_ros.geometry.poses import as_pose, compose, relative
from delama_ros.mapping.scan import KINDS, Marks, Scan, scan_marks, shortened
from delama_ros.mapping.tiles import TileModel

WHOLE = (
    'keyframe_ids', 'keyframe_steps', 'keyframe_sizes', 'fade_sizes', 'fade_codes',
)  # arrays of whole numbers
NOTICEABLE = 0.005  # m by which the bias of a laser changes before its keyframes are mapped again
AT_ONCE = 40  # keyframes that are mapped again in one step, which takes some milliseconds each
PENDING = -1  # step of a keyframe that nobody has learned from yet,
OBSERVED = -2  # and of one that the agent was given and learns from with its next step


class Change(NamedTuple):
    """Statistics to add to the memory, per tile; they may be negative."""

    keys: Keys  # (n, 2)
    H: Floats  # (n, K, K)
    r: Floats  # (n, K, 1)
    evidence: Floats  # (n, P)


@dataclass
class Keyframe:
    """One scan with its place on the robot's path."""

    pose: Pose  # of the base, in the map frame
    mount: Pose  # of the sensor, seen from the base
    scan: Scan
    peers: Floats  # (P, 2), positions of other robots, seen from the base
    bias: float = 0.0  # m by which its ranges are too long
    step: int = PENDING  # count of the step in which it was learned
    codes: Codes = field(default_factory=lambda: np.zeros(0, np.int64))  # tiles it touches


class Keyframes:
    """The keyframes whose evidence is in a robot's memory."""

    def __init__(self, model: TileModel) -> None:
        """Start without keyframes."""
        self._model = model
        self._frames: dict[int, Keyframe] = {}
        self._touched: Counter[int] = Counter()  # tile code → learned keyframes that touch it
        self._fades: dict[int, Blocks] = {}  # step → F_n then, while keyframes of that step live
        self._steps = 0  # in which keyframes were learned
        self.bias = 0.0  # m by which the laser measures too far, as far as is known

    def __len__(self) -> int:
        return len(self._frames)

    def __contains__(self, name: int) -> bool:
        return name in self._frames

    def poses(self) -> dict[int, Pose]:
        """Return the poses from which keyframes are mapped."""
        return {name: frame.pose for name, frame in self._frames.items()}

    def add(
        self, name: int, pose: Pose, sensor: Pose, scan: Scan, peers: npt.ArrayLike | None = None
    ) -> None:
        """Add a keyframe; its evidence is learned with the next step.

        Args:
            name: id of the keyframe, new.
            pose: of the base, in the map frame.
            sensor: pose of the sensor, in the map frame.
            scan: the scan that was taken there.
            peers: positions (P, 2) of other robots in the map frame.

        Raises:
            ValueError: if there is a keyframe of that id.
        """
        if name in self._frames:
            raise ValueError(f'keyframe {name} is in the map already')
        seen = np.zeros((0, 3)) if peers is None else _with_yaw(peers)
        self._frames[name] = Keyframe(
            pose,
            as_pose(relative(pose, sensor)),
            scan,
            relative(pose, seen)[:, :2] if len(seen) else np.zeros((0, 2)),
            self.bias,
        )

    def observe(self) -> Change | None:
        """Return the statistics of keyframes that have not been learned yet."""
        counts = _Counts(self._model)
        for frame in self._frames.values():
            if frame.step == PENDING:
                keys, marks = self._marks(frame)
                counts.add(keys, marks, 1.0)
                frame.step, frame.codes = OBSERVED, encode(keys)
        return counts.change()

    def learned(self, fade: Blocks | None) -> None:
        """Note that the agent has learned from the keyframes that it was given.

        fade: F_n of all tiles at this time, (n, 1); None if nothing is ever forgotten.
        """
        new = [frame for frame in self._frames.values() if frame.step == OBSERVED]
        self._steps += bool(new)
        for frame in new:
            frame.step = self._steps
            self._touched.update(frame.codes.tolist())
            if fade is not None:
                self._fades[frame.step] = fade

    def touched(self, names: Iterable[int]) -> Codes:
        """Return the tiles that learned keyframes of some ids touch."""
        found = [self._frames[name].codes for name in names if name in self._frames]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))

    def move(self, poses: Mapping[int, Pose], fade: Blocks | None) -> Change | None:
        """Move keyframes; returns what to add to the memory, None if nothing learned moves.

        Ids that are unknown are ignored: their evidence was never mapped.
        """
        counts = _Counts(self._model)
        for name, pose in poses.items():
            frame = self._frames.get(name)
            if frame is None:
                continue
            if frame.step == PENDING:
                frame.pose = pose
                continue
            self._count(counts, frame, -1.0, fade)
            frame.pose = pose
            frame.codes = self._count(counts, frame, 1.0, fade)
        return counts.change()

    def outdated(self) -> list[int]:
        """Return ids of keyframes whose ranges are known better by now, a few of the newest."""
        off = [n for n, f in self._frames.items() if abs(f.bias - self.bias) >= NOTICEABLE]
        return sorted(off)[-AT_ONCE:]

    def correct(self, names: Iterable[int], fade: Blocks | None) -> Change | None:
        """Shorten the ranges of keyframes as they should be; returns as `move` does."""
        counts = _Counts(self._model)
        for frame in (self._frames[name] for name in names):
            if frame.step != PENDING:
                self._count(counts, frame, -1.0, fade)
            frame.bias = self.bias
            if frame.step != PENDING:
                frame.codes = self._count(counts, frame, 1.0, fade)
        return counts.change()

    def remove(self, names: Iterable[int], fade: Blocks | None) -> Change | None:
        """Forget keyframes and their evidence; returns what to add to the memory."""
        counts = _Counts(self._model)
        for name in names:
            frame = self._frames.pop(name, None)
            if frame is not None and frame.step != PENDING:
                self._count(counts, frame, -1.0, fade)
        alive = {frame.step for frame in self._frames.values()}
        self._fades = {step: fade for step, fade in self._fades.items() if step in alive}
        return counts.change()

    def empty(self, codes: Codes) -> Codes:
        """Return those of some tiles that no keyframe touches any more."""
        gone = np.array([self._touched[code] <= 0 for code in codes.tolist()], np.bool_)
        for code in codes[gone].tolist():
            del self._touched[code]
        return codes[gone]

    def _count(
        self, counts: _Counts, frame: Keyframe, sign: float, fade: Blocks | None
    ) -> Codes:
        """Add a keyframe's marks at its pose with a sign; returns the tiles it touches."""
        keys, marks = self._marks(frame)
        codes = encode(keys)
        then = self._fades.get(frame.step)
        share = 1.0 if fade is None else _at(fade, codes) / _at(then, codes)
        counts.add(keys, marks, sign * share)
        if sign > 0:
            self._touched.update(codes.tolist())
        else:
            self._touched.subtract(codes.tolist())
        return codes

    def _marks(self, frame: Keyframe) -> tuple[Keys, Marks]:
        peers = None
        if len(frame.peers):
            peers = compose(frame.pose, _with_yaw(frame.peers))[:, :2]
        return scan_marks(
            shortened(frame.scan, frame.bias),
            as_pose(compose(frame.pose, frame.mount)),
            resolution=self._model.resolution,
            tile_cells=self._model.cells,
            peers=peers,
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all keyframes as arrays of numbers."""
        names = sorted(self._frames)
        frames = [self._frames[name] for name in names]
        sizes = [(f.scan.ranges.size, len(f.peers)) for f in frames]
        fades = [(step, fade) for step, fade in sorted(self._fades.items())]
        return {
            'keyframe_ids': np.array(names, np.int64),
            'keyframe_steps': np.array([f.step for f in frames], np.int64),
            'keyframe_poses': np.array([[*f.pose, *f.mount] for f in frames]).reshape(-1, 6),
            'keyframe_lasers': np.array([_laser(f.scan) for f in frames]).reshape(-1, 4),
            'keyframe_sizes': np.array(sizes, np.int64).reshape(-1, 2),
            'keyframe_ranges': np.concatenate(
                [np.zeros(0), *(f.scan.ranges for f in frames)]
            ),
            'keyframe_biases': np.array([f.bias for f in frames]),
            'keyframe_peers': np.concatenate([np.zeros((0, 2)), *(f.peers for f in frames)]),
            'fade_sizes': np.array([(s, len(b.codes)) for s, b in fades], np.int64).reshape(-1, 2),
            'fade_codes': np.concatenate([np.zeros(0, np.int64), *(b.codes for _, b in fades)]),
            'fade_values': np.concatenate([np.zeros((0, 1)), *(b.values for _, b in fades)]),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what `state` returned; ValueError if it does not fit together."""
        self._frames, self._touched, self._fades = {}, Counter(), {}
        self._steps = 0
        if 'keyframe_ids' not in state:  # saved without SLAM
            return
        _check(state)
        self._steps = int(state['keyframe_steps'].max(initial=0))
        sizes = state['keyframe_sizes']
        biases = state.get('keyframe_biases', np.zeros(len(sizes))).tolist()
        beams = np.split(state['keyframe_ranges'], np.cumsum(sizes[:-1, 0]))
        peers = np.split(state['keyframe_peers'], np.cumsum(sizes[:-1, 1]))
        for i, name in enumerate(state['keyframe_ids'].tolist()):
            poses, laser = state['keyframe_poses'][i].tolist(), state['keyframe_lasers'][i].tolist()
            scan = Scan(beams[i], *laser)
            step = int(state['keyframe_steps'][i])
            pose, mount = tuple(poses[:3]), tuple(poses[3:])
            frame = Keyframe(pose, mount, scan, peers[i], biases[i], step)
            if step != PENDING:
                frame.codes = encode(self._marks(frame)[0])
                self._touched.update(frame.codes.tolist())
            self._frames[name] = frame
        at = 0
        for step, count in state['fade_sizes'].tolist():
            codes, values = (
                state[name][at : at + count] for name in ('fade_codes', 'fade_values')
            )
            self._fades[step] = Blocks(codes, values)
            at += count


def _check(state: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise ValueError for arrays that no `state` returned, KeyError for one that is missing."""
    shapes: dict[str, tuple[int | str, ...]] = {
        'keyframe_ids': ('k',), 'keyframe_steps': ('k',), 'keyframe_poses': ('k', 6),
        'keyframe_lasers': ('k', 4), 'keyframe_sizes': ('k', 2), 'keyframe_peers': ('p', 2),
        'fade_sizes': ('s', 2), 'fade_codes': ('c',), 'fade_values': ('c', 1),
    }
    check_arrays({name: state[name] for name in shapes}, shapes, whole=WHOLE)
    check_arrays(state, {'keyframe_biases': (len(state['keyframe_ids']),)})  # newer than others
    sizes, ranges = state['keyframe_sizes'], state['keyframe_ranges']
    if ranges.ndim != 1 or ranges.dtype.kind != 'f':  # which may be NaN or infinite
        raise ValueError(f'keyframe_ranges are {ranges.dtype} {ranges.shape}, expected ranges')
    for name, given, of in (
        ('keyframe_sizes', sizes[:, 0], 'keyframe_ranges'),
        ('keyframe_sizes', sizes[:, 1], 'keyframe_peers'),
        ('fade_sizes', state['fade_sizes'][:, 1], 'fade_codes'),
    ):
        total = len(state[of])
        if (given < 0).any() or (given > total).any() or given.sum() != total:
            raise ValueError(f'{name} do not add up to the {total} {of}')
    if len(np.unique(state['keyframe_ids'])) < len(state['keyframe_ids']):
        raise ValueError('keyframe_ids hold a keyframe twice')


class _Counts:
    """Weighted marks by tile, added up until their statistics are wanted."""

    def __init__(self, model: TileModel) -> None:
        self._model = model
        self._parts: list[tuple[Codes, Marks, Floats]] = []

    def add(self, keys: Keys, marks: Marks, weight: Floats | float) -> None:
        """Add marks (n, S, S) with a weight, one or one per tile."""
        self._parts.append((encode(keys), marks, np.broadcast_to(weight, len(keys))))

    def change(self) -> Change | None:
        """Return the statistics of all that was added, tiles whose marks cancel left out."""
        if not self._parts:
            return None
        codes = np.unique(np.concatenate([part[0] for part in self._parts]))
        cells = self._model.cells
        counts = np.zeros((len(codes), KINDS, cells, cells))
        bits = np.arange(KINDS, dtype=np.uint8)[:, None, None]
        for some, marks, weight in self._parts:  # the tiles of one scan are unique
            at = np.searchsorted(codes, some)
            counts[at] += weight[:, None, None, None] * (marks[:, None] >> bits & 1)
        changed = counts.any((1, 2, 3))
        if not changed.any():
            return None
        keys = decode(codes[changed])
        return Change(keys, *self._model.statistics(counts[changed]))


def _with_yaw(places: npt.ArrayLike) -> Floats:
    points = np.asarray(places, np.float64).reshape(-1, 2)
    return np.concatenate([points, np.zeros((len(points), 1))], 1)


def _at(fade: Blocks | None, codes: Codes) -> Floats:
    """Return F_n of some tiles; 1 where a tile was not known then."""
    out = np.ones(len(codes))
    if fade is not None and len(fade.codes):
        at = np.searchsorted(fade.codes, codes).clip(max=len(fade.codes) - 1)
        known = fade.codes[at] == codes
        out[known] = fade.values[at[known], 0]
    return out


def _laser(scan: Scan) -> tuple[float, float, float, float]:
    return scan.angle_min, scan.angle_increment, scan.range_min, scan.range_max

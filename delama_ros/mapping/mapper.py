"""One robot's mapping: scans in, messages to and from neighbours, a map out; no clock, no ROS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Message
from delama_ros.core.array_file import check_arrays
from delama_ros.core.blocks import Codes, Model, decode, encode
from delama_ros.geometry.grid import UNKNOWN, Cells, OccupancyMap, Pose
from delama_ros.geometry.poses import as_pose, compose
from delama_ros.mapping.completion import Decoder, view
from delama_ros.mapping.extent import Extent, extent
from delama_ros.mapping.fusion import Fusion
from delama_ros.mapping.keyframes import Change, Keyframes
from delama_ros.mapping.scan import Keys, Marks, Scan, count_marks, scan_marks
from delama_ros.mapping.tiles import TileModel
from delama_ros.mapping.trust import Trust
from delama_ros.mapping.warp import Statistics, merged, warp

ROOM = 7  # cells along the edge of free space that is more than a sliver


def without_slivers(cells: Cells) -> Cells:
    """Return the grid with free slivers, such as appear behind walls, set to UNKNOWN.

    Free space counts where a square of ROOM cells fits, and next to it.
    """
    free = (cells >= 0) & (cells < 50)
    roomy = ndimage.minimum_filter(free.view(np.uint8), ROOM, mode='constant')
    open_space = ndimage.maximum_filter(roomy, ROOM, mode='constant') > 0
    believed = ndimage.binary_dilation(open_space, iterations=ROOM // 2, mask=free)
    return np.where(free & ~believed, UNKNOWN, cells).astype(np.int8)


class Mapper:
    """An agent whose data are laser scans and whose model is a map of tiles."""

    def __init__(self, agent: Agent, fusion: Fusion, model: TileModel) -> None:
        """Combine what the mapper consists of.

        Args:
            agent: the participant of DeLAMA.
            fusion: the agent's model update.
            model: what the agent's model means: features of tiles.
        """
        self.agent = agent
        self.model = model
        self._fusion = fusion
        self._marks: list[tuple[Keys, Marks]] = []  # of the scans since the last step
        self._keyframes = Keyframes(model)
        self._left: Codes = np.zeros(0, np.int64)  # tiles from which keyframes moved away
        self._observed = 0  # steps that the agent had learned from when it was given keyframes
        self._fixed: Codes = np.zeros(0, np.int64)  # tiles with evidence that never moves
        self.modelled: dict[int, Pose] = {}  # poses that the last local model has keyframes at
        self._guests: list[Statistics] = []  # maps in other frames, until the next step
        self._known: Model | None = None  # the refined model and they, once it was asked for

    def add_scan(self, scan: Scan, pose: Pose, peers: npt.ArrayLike | None = None) -> None:
        """Add a scan, which the next step learns from.

        Args:
            scan: the scan.
            pose: of the sensor: x, y (m) and yaw (rad) in the frame that all robots share.
            peers: (P, 2), positions of other robots at that time, which are no walls.

        Raises:
            ValueError: if the pose is not finite.
        """
        self._marks.append(
            scan_marks(
                scan,
                pose,
                resolution=self.model.resolution,
                tile_cells=self.model.cells,
                peers=peers,
            )
        )

    def add_keyframe(
        self,
        name: int,
        pose: Pose,
        sensor: Pose,
        scan: Scan,
        peers: npt.ArrayLike | None = None,
    ) -> None:
        """Add the scan of a keyframe, whose evidence follows when its pose is corrected.

        Args:
            name: id of the keyframe, new.
            pose: of the base, in the map frame.
            sensor: pose of the sensor, in the map frame.
            scan: the scan.
            peers: (P, 2), positions of other robots at that time, which are no walls.

        Raises:
            ValueError: if there is a keyframe of that id.
        """
        self._keyframes.add(name, pose, sensor, scan, peers)

    def move_keyframes(self, poses: Mapping[int, Pose]) -> None:
        """Move keyframes: with the next step their evidence is where they really were.

        Args:
            poses: new pose of the base by id; ids that were never mapped are ignored.
        """
        self._settle()
        before = self._keyframes.touched(poses)
        self._revise(self._keyframes.move(poses, self.agent.fade), before)

    def remove_keyframes(self, names: Iterable[int]) -> None:
        """Forget the keyframes of these names: with the next step their evidence is gone."""
        self._settle()
        names = list(names)
        before = self._keyframes.touched(names)
        self._revise(self._keyframes.remove(names, self.agent.fade), before)

    def set_range_bias(self, bias: float) -> None:
        """Say how far off the laser is; with the next steps the map of all keyframes follows.

        Args:
            bias: m by which it measures too far.
        """
        self._keyframes.bias = bias

    def reframe(self, frame: str, shift: Pose) -> None:
        """Lay the map out in another frame; all keyframes move along.

        Args:
            frame: id of the other frame.
            shift: pose of the present frame in it.

        Raises:
            ValueError: if the map holds scans that belong to no keyframe; they cannot be moved.
        """
        if len(self._fixed) or self._marks:
            raise ValueError('the map holds scans without keyframes, which cannot be moved')
        self.agent.reframe(frame)
        self.move_keyframes(
            {name: as_pose(compose(shift, p)) for name, p in self._keyframes.poses().items()}
        )
        # The next step solves for the model in that frame; until then it is resampled.
        before = self._fusion.model
        nothing = before.take(np.zeros(len(before.codes), np.bool_))
        self._guests, self._known = [], None
        self._fusion.model = self._merged(nothing, [warp(before, self.model, shift)])

    def add_guest(self, model: Model, shift: Pose) -> None:
        """Show what is known in another frame beside the robot's own, until the next step.

        Args:
            model: laid out in the other frame.
            shift: pose of that frame in the robot's.
        """
        self._guests.append(warp(model, self.model, shift))
        self._known = None

    @property
    def centre(self) -> tuple[float, float]:
        """Mean position of all keyframes, m."""
        poses = list(self._keyframes.poses().values()) or [(0.0, 0.0, 0.0)]
        x, y, _ = np.mean(poses, axis=0).tolist()
        return x, y

    def _revise(self, change: Change | None, before: Codes) -> None:
        """Hand a change to the agent, and note which tiles may have lost their last evidence."""
        if change is not None:
            self.agent.revise(*change)
        self._left = np.union1d(self._left, before)

    def learn(self) -> None:
        """Pass the statistics of the scans since the last step to the agent."""
        if self._marks:
            keys, counts = count_marks(self._marks)
            self._marks = []
            self._fixed = np.union1d(self._fixed, encode(keys))
            self.agent.observe(keys, *self.model.statistics(counts))

    def begin(self, step: int, neighbours: Iterable[str]) -> list[Message]:
        """Learn from the scans added so far and begin a time step.

        Args:
            step: number of the time step, higher than the last one.
            neighbours: names of the robots to exchange messages with.

        Returns:
            The messages to send first.
        """
        self.prepare()
        return self.agent.begin(step, neighbours)

    def prepare(self) -> None:
        """Pass all new data to the agent; called by `begin`, or before `agent.begin`."""
        self._guests, self._known = [], None
        self.learn()
        self._settle()
        outdated = self._keyframes.outdated()
        before = self._keyframes.touched(outdated)
        self._revise(self._keyframes.correct(outdated, self.agent.fade), before)
        empty = self._keyframes.empty(self._left)
        empty = empty[~np.isin(empty, self._fixed)]
        if len(empty):
            self.agent.drop(decode(empty))
        self._left = empty[:0]
        new = self._keyframes.observe()
        if new is not None:
            self.agent.observe(*new)
            self._observed = self.agent.learned
        self.modelled = self._keyframes.poses()

    def _settle(self) -> None:
        """Note when the agent has learned from the keyframes that it was given."""
        if self.agent.learned > self._observed:
            self._keyframes.learned(self.agent.fade)

    @property
    def trust(self) -> Trust:
        """Whose maps this robot believes."""
        return self._fusion.trust

    @property
    def known(self) -> Model:
        """All that is known in the robot's frame: its own data, that of peers it trusts, guests."""
        if not self._guests:
            return self._fusion.model
        if self._known is None:
            self._known = self._merged(self._fusion.model, self._guests)
        return self._known

    def _merged(self, model: Model, guests: list[Statistics]) -> Model:
        return merged(model, guests, self.model, 2 * self.agent.settings.lambda1_coupled)

    @property
    def extent(self) -> Extent:
        """Which of the known tiles the robot's map shows."""
        own = self.agent.local.codes
        return extent(self.known.codes, own, self.model.cells * self.model.resolution)

    @property
    def shown(self) -> Model:
        """All that is known, without tiles too far away for one grid."""
        inside = self.extent.shown
        return self.known if inside.all() else self.known.take(inside)

    def occupancy(self) -> OccupancyMap:
        """Return the robot's map; cells that no robot has seen are unknown."""
        known = self.shown
        drawn = self.model.occupancy(decode(known.codes), known.theta, known.evidence)
        return drawn.with_cells(without_slivers(drawn.cells))

    def completed(self, decoder: Decoder) -> OccupancyMap:
        """Return the map with the decoder's guess at what no robot has seen."""
        known = self.shown
        seen = view(self.model, decode(known.codes), known.theta, known.evidence)
        return decoder.complete(seen, self.model.resolution)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that a restart needs, as arrays."""
        self._settle()
        return {**self.agent.state(), **self._keyframes.state(), 'fixed': self._fixed}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Continue from what `state` returned; call between steps.

        Raises:
            ValueError: if the arrays are of another shape of model, or hold impossible numbers;
                the mapper is then unchanged.
        """
        check_arrays(state, {'fixed': ('f',)}, whole=('fixed',))
        keyframes = Keyframes(self.model)
        keyframes.bias = self._keyframes.bias
        keyframes.restore(state)
        self.agent.restore(state)
        self._keyframes = keyframes
        self._guests, self._known = [], None
        self._observed = self.agent.learned
        # Tiles of a file that was saved without keyframes stay where they are.
        self._fixed = np.asarray(state.get('fixed', np.sort(encode(state['keys']))), np.int64)

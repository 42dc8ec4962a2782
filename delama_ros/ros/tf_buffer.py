"""Lookups through tf2's own buffer, where a full ROS 2 is sourced."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time

from delama_ros.geometry.frames import Frames
from delama_ros.geometry.grid import Pose
from delama_ros.geometry.rigid import Rigid

try:
    from tf2_py import BufferCore, TransformException
except ImportError:  # the wheels from PyPI have no tf2
    BufferCore = None


def make_frames() -> Frames:
    """Return frames that tf2 composes and interpolates if it is there, our own otherwise."""
    return Frames() if BufferCore is None else BufferedFrames(BufferCore)


class BufferedFrames(Frames):
    """The same tree, looked up in a buffer of tf2.

    What is missing is still named by our own lookup, which also knows which frames move.
    """

    def __init__(self, buffer: Any, *, keep: float = 10.0) -> None:
        """Create an empty tree; buffer: the class BufferCore of tf2_py."""
        super().__init__(keep=keep)
        self._buffer = buffer(Duration(seconds=keep))

    def set_fixed(self, parent: str, child: str, pose: Pose | Rigid) -> None:
        """Set a link that never changes."""
        super().set_fixed(parent, child, pose)
        self._set_fixed_in_buffer(child)

    def add(self, parent: str, child: str, stamp: float, pose: Pose | Rigid) -> bool:
        """Add a pose of the child at `stamp` seconds; False if the clock must have jumped back."""
        before = self._parents.get(child, parent), self.newest(child)
        in_order = super().add(parent, child, stamp, pose)
        if not in_order or before[0] != parent:
            self._fill()
        elif self.newest(child) > before[1] and child not in self._fixed:
            self._buffer.set_transform(self._newest_link(child), '')
        return in_order

    def forget_link(self, frame: str) -> None:
        """Forget the poses of a frame in its parent."""
        super().forget_link(frame)
        self._fill()

    def forget(self, stamp: float) -> None:
        """Forget links whose newest pose is later than `stamp` seconds: the clock was set back."""
        super().forget(stamp)
        self._fill()

    def lookup_in_space(self, target: str, source: str, stamp: float) -> Rigid:
        """Look up as `lookup`, before the projection to the plane."""
        if target in self.chain(source):
            try:
                found = self._buffer.lookup_transform_core(target, source, _time(stamp))
            except TransformException:
                pass
            else:
                shift, turn = found.transform.translation, found.transform.rotation
                return Rigid(shift.x, shift.y, shift.z, (turn.x, turn.y, turn.z, turn.w))
        return super().lookup_in_space(target, source, stamp)

    def _fill(self) -> None:
        """Refill the buffer: it cannot forget single links."""
        self._buffer.clear()
        for child in self._fixed:
            self._set_fixed_in_buffer(child)
        for child, (stamps, poses) in self._moving.items():
            for stamp, pose in zip(stamps, poses, strict=True):
                if child not in self._fixed:
                    self._buffer.set_transform(self._link_message(child, pose, stamp), '')

    def _set_fixed_in_buffer(self, child: str) -> None:
        self._buffer.set_transform_static(self._link_message(child, self._fixed[child], 0.0), '')

    def _newest_link(self, child: str) -> TransformStamped:
        stamps, poses = self._moving[child]
        return self._link_message(child, poses[-1], stamps[-1])

    def _link_message(self, child: str, pose: Rigid, stamp: float) -> TransformStamped:
        link = TransformStamped(child_frame_id=child)
        link.header.frame_id, link.header.stamp = self._parents[child], _time(stamp).to_msg()
        shift, turn = link.transform.translation, link.transform.rotation
        shift.x, shift.y, shift.z = pose[:3]
        turn.x, turn.y, turn.z, turn.w = pose.turn
        return link


def _time(stamp: float) -> Time:
    return Time(nanoseconds=round(stamp * 1e9))

"""The agent's messages as ROS messages and back; what does not fit is refused with a reason."""

from __future__ import annotations

import array

import numpy as np

from delama_ros.core.blocks import Shape
from delama_ros.core.messages import Dual
from delama_ros.msg import DualVar, ModelParams
from delama_ros.transport.port import Packet


def packet_to_ros(packet: Packet) -> ModelParams:
    """Write θ; the header is left to the sender."""
    return ModelParams(
        robot=packet.robot,
        step=packet.step,
        phase=int(packet.phase),
        round=packet.round,
        fingerprint=packet.fingerprint,
        resync=list(packet.resync),
        encoding=packet.encoding,
        features=packet.shape[0],
        outputs=packet.shape[1],
        parts=packet.shape[2],
        blocks=array.array('i', packet.keys.astype(np.int32).tobytes()),
        data=array.array('B', packet.data),
    )


def packet_from_ros(message: ModelParams) -> Packet:
    """Read θ; ValueError if block indices are not pairs."""
    blocks = np.asarray(message.blocks, np.int32)
    if len(blocks) % 2:
        raise ValueError(f'{len(blocks)} block indices, expected pairs')
    return Packet(
        robot=message.robot,
        step=message.step,
        phase=message.phase,
        round=message.round,
        fingerprint=message.fingerprint,
        resync=tuple(message.resync),
        encoding=message.encoding,
        shape=Shape(message.features, message.outputs, message.parts),
        keys=blocks.reshape(-1, 2),
        data=bytes(message.data),
    )


def dual_to_ros(message: Dual) -> DualVar:
    """Write scalars; the header is left to the sender."""
    return DualVar(
        robot=message.robot,
        step=message.step,
        phase=int(message.phase),
        round=message.round,
        hop=message.hop,
        fingerprint=message.fingerprint,
        names=list(message.names),
        x=array.array('d', np.asarray(message.x, np.float64).tobytes()),
        y=array.array('d', np.asarray(message.y, np.float64).tobytes()),
    )


def dual_from_ros(message: DualVar) -> Dual:
    """Read scalars; ValueError if the lists differ in length."""
    if not len(message.names) == len(message.x) == len(message.y):
        raise ValueError(
            f'{len(message.names)} names, {len(message.x)} x and {len(message.y)} y, expected '
            'the same number of each'
        )
    return Dual(
        robot=message.robot,
        step=message.step,
        phase=message.phase,
        round=message.round,
        hop=message.hop,
        fingerprint=message.fingerprint,
        names=tuple(message.names),
        x=np.asarray(message.x, np.float64),
        y=np.asarray(message.y, np.float64),
    )

"""Conversion of the agent's messages to ROS messages and back."""

from __future__ import annotations

import array

import numpy as np

from delama_ros.core.agent.messages import Dual, ModelLabel, label_of
from delama_ros.core.blocks import Shape
from delama_ros.msg import DualVar, ModelParams
from delama_ros.transport.port import Packet


def packet_to_ros(packet: Packet) -> ModelParams:
    """Convert a packet; the sender fills in the header."""
    return ModelParams(
        **label_of(packet, ModelLabel),
        sources=list(packet.sources),
        epochs=array.array('I', packet.epochs),
        resync=list(packet.resync),
        resync_from=array.array('I', packet.resync_from),
        encoding=packet.encoding,
        features=packet.shape[0],
        outputs=packet.shape[1],
        parts=packet.shape[2],
        blocks=array.array('i', packet.keys.astype(np.int32).tobytes()),
        data=array.array('B', packet.data),
    )


def packet_from_ros(message: ModelParams) -> Packet:
    """Convert back; raises ValueError if block indices are not pairs."""
    blocks = np.asarray(message.blocks, np.int32)
    if len(blocks) % 2:
        raise ValueError(f'{len(blocks)} block indices, expected pairs')
    return Packet(
        **label_of(message, ModelLabel),
        sources=tuple(message.sources),
        epochs=tuple(message.epochs),
        resync=tuple(message.resync),
        resync_from=tuple(message.resync_from),
        encoding=message.encoding,
        shape=Shape(message.features, message.outputs, message.parts),
        keys=blocks.reshape(-1, 2),
        data=bytes(message.data),
    )


def dual_to_ros(message: Dual) -> DualVar:
    """Convert dual rows; the sender fills in the header."""
    return DualVar(
        **label_of(message),
        hop=message.hop,
        names=list(message.names),
        x=array.array('d', np.asarray(message.x, np.float64).tobytes()),
        y=array.array('d', np.asarray(message.y, np.float64).tobytes()),
    )


def dual_from_ros(message: DualVar) -> Dual:
    """Convert back; raises ValueError if the lists differ in length."""
    if not len(message.names) == len(message.x) == len(message.y):
        raise ValueError(
            f'{len(message.names)} names, {len(message.x)} x and {len(message.y)} y, expected '
            'the same number of each'
        )
    return Dual(
        **label_of(message),
        hop=message.hop,
        names=tuple(message.names),
        x=np.asarray(message.x, np.float64),
        y=np.asarray(message.y, np.float64),
    )

"""The agent's messages as ROS messages and back; what does not fit is refused with a reason."""

from __future__ import annotations

import array

import numpy as np

from delama_ros.core.messages import Dual, Params
from delama_ros.msg import DualVar, ModelParams
from delama_ros.transport.codec import Encoding, decode, encode


def params_to_ros(message: Params, encoding: Encoding) -> ModelParams:
    """Write θ; the header is left to the sender."""
    scale, data = encode(message.values, encoding)
    return ModelParams(
        robot=message.robot,
        step=message.step,
        phase=int(message.phase),
        round=message.round,
        fingerprint=message.fingerprint,
        encoding=int(encoding),
        features=message.values.shape[1],
        outputs=message.values.shape[2],
        blocks=array.array('i', message.keys.astype(np.int32).tobytes()),
        scale=array.array('f', scale.tobytes()),
        data=array.array('B', data),
    )


def params_from_ros(message: ModelParams) -> Params:
    """Read θ; ValueError if sizes or encoding do not fit."""
    blocks = np.asarray(message.blocks, np.int32)
    if len(blocks) % 2:
        raise ValueError(f'{len(blocks)} block indices, expected pairs')
    shape = (len(blocks) // 2, message.features, message.outputs)
    scale = np.asarray(message.scale, np.float32)
    return Params(
        robot=message.robot,
        step=message.step,
        phase=message.phase,
        round=message.round,
        fingerprint=message.fingerprint,
        keys=blocks.reshape(-1, 2),
        values=decode(message.encoding, scale, bytes(message.data), shape),
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

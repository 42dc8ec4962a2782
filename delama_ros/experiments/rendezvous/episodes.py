"""Models as robots exchange them, each in a frame of its own, to measure registration on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from delama_ros.core.agent.messages import Params
from delama_ros.core.blocks import decode
from delama_ros.experiments.mapping.dataset import noisy_poses, scan_of
from delama_ros.mapping.default import make_mapper, packaged
from delama_ros.rendezvous.se2 import Floats, compose, inverse
from delama_ros.rendezvous.surface import Tiles, tiles_of
from delama_ros.transport.port import Encoding, Port
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

STEPS = (1, 2, 3, 4, 6, 8, 10, 12)


@dataclass(frozen=True, eq=False)
class Received:
    """A model as arrays: keys (n, 2), theta (n, K), evidence (n, P)."""

    keys: npt.NDArray[np.int32]
    theta: npt.NDArray[np.float32]
    evidence: npt.NDArray[np.float32]

    def tiles(self) -> Tiles:
        """Return the model as cells, with the packaged table."""
        model = packaged().model
        return tiles_of(
            self.keys, self.theta, self.evidence, model.table, model.bias, model.resolution
        )


@dataclass(frozen=True)
class Models:
    """What the robots of one run know after each of some steps."""

    frames: Floats  # (N, 3): pose of each robot's frame in the plan
    own: list[list[Received]]  # [robot][index of the step]: as the robot itself has it
    received: list[list[Received]]  # the same as peers receive it: quantised, without small changes


def random_frames(robots: int, seed: int, spread: float = 30.0) -> Floats:
    """Draw poses (robots, 3) of frames: anywhere within `spread` metres, any heading."""
    rng = np.random.default_rng([seed, 0xF7A3E])
    return np.column_stack([
        rng.uniform(-spread, spread, (robots, 2)), rng.uniform(-np.pi, np.pi, robots)
    ])


def run_models(
    spec: str,
    seed: int,
    *,
    robots: int = 5,
    steps: Sequence[int] = STEPS,
    noise: float = 0.0,
) -> Models:
    """Run the mapping protocol on a plan, each robot in its own frame.

    Args:
        spec: as `delama_sim.plans.load` takes it.
        seed: of starts, paths, noise and frames.
        robots: how many.
        steps: after which the models are kept.
        noise: standard deviation in m of independent errors of every pose, headings in proportion.

    Returns:
        The models and the frames they are in.

    """
    world = prepare(load(spec), seed)
    run = mapping_run(world, seed, robots=robots, steps=max(steps))
    poses = noisy_poses(run, noise, seed) if noise else run.poses
    frames = random_frames(robots, seed)
    checkpoint = packaged()
    own: list[list[Received]] = []
    received: list[list[Received]] = []
    for i in range(robots):
        mapper = make_mapper(f'robot_{i}', checkpoint)
        sender, receiver = Port(f'robot_{i}', Encoding.DELTA), Port('peer', Encoding.DELTA)
        sender.meet(0, frozenset(['peer']))
        back = inverse(frames[i])
        own.append([])
        received.append([])
        for t in range(1, max(steps) + 1):
            x, y, yaw = compose(back, poses[t - 1, i]).tolist()
            mapper.add_scan(scan_of(run, t - 1, i), (x, y, yaw))
            sent = mapper.begin(t, ())[0]
            assert isinstance(sent, Params)
            arrived = receiver.unpack(sender.pack(sent))
            assert isinstance(arrived, Params)
            while not mapper.agent.done:
                mapper.agent.advance()
            if t in steps:
                own[-1].append(_arrays(sent))
                received[-1].append(_arrays(arrived))
    return Models(frames, own, received)


def _arrays(message: Params) -> Received:
    model = message.model
    theta = model.theta[..., 0].astype(np.float32)
    return Received(decode(model.codes), theta, model.evidence.astype(np.float32))


def share_of_names(names: Sequence[str], share: float) -> tuple[list[str], list[str]]:
    """Split plans by a hash of their names: about `share` of them, and the rest."""
    def draw(name: str) -> float:
        digest = hashlib.sha256(b'rendezvous ' + Path(name).stem.encode()).digest()
        return int.from_bytes(digest[:4], 'big') / 2**32

    chosen = [name for name in names if draw(name) < share]
    return chosen, [name for name in names if draw(name) >= share]

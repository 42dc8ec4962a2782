"""A picture of one plan: the truth, and what one robot makes of it alone and with the others."""

from __future__ import annotations

from pathlib import Path

from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.experiments.mapping.log_picture import Panel, write_panels
from delama_ros.experiments.mapping.runner import Step, run_swarm
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.completion import packaged
from delama_ros.mapping.default import make_mapper
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare


def draw_side_by_side(spec: str, checkpoint: Checkpoint, path: Path, *, seed: int = 0) -> None:
    """Map a plan by the protocol and draw the first robot's maps at the end of it."""
    run = mapping_run(prepare(load(spec), seed), seed)
    steps, robots = run.poses.shape[:2]
    last: list[Step] = []
    run_swarm(run, checkpoint, take=lambda step, t: last.append(step))
    alone, everybody = make_mapper('alone', checkpoint), make_mapper('all', checkpoint)
    for t in range(steps):
        for i in range(robots):
            x, y, yaw = run.poses[t, i].tolist()
            for mapper in (everybody, *([alone] if i == 0 else [])):
                mapper.add_scan(scan_of(run, t, i), (x, y, yaw))
    for mapper in (alone, everybody):
        mapper.begin(1, [])
        mapper.agent.advance()
    together = last[-1].mappers[0]
    trajectories = [run.poses[:, i, :2] for i in range(robots)]
    resolution = checkpoint.model.resolution
    guess = together.completed(packaged())
    fine = guess.cells.repeat(2, 0).repeat(2, 1)  # panels are of one resolution
    write_panels(
        [
            Panel('truth', run.map.reduced_to(resolution), trajectories),
            Panel('one robot alone', alone.occupancy(), trajectories[:1]),
            Panel('the same robot, fusion', together.occupancy()),
            Panel('completed (grey: guess)', type(guess)(fine, resolution, guess.origin)),
            Panel('centralised', everybody.occupancy()),
        ],
        path,
    )

"""Three robots map a generated flat together; the picture shows it beside one robot alone."""

import sys
from pathlib import Path

from delama_ros.experiments.mapping.log_picture import Panel, write_panels
from delama_ros.experiments.mapping.runner import Step, run_swarm
from delama_ros.geometry.score import score
from delama_ros.mapping import packaged
from delama_sim import load, mapping_run, prepare

picture = Path(sys.argv[1] if len(sys.argv) > 1 else 'robots_mapping.png')
run = mapping_run(prepare(load('generated:4'), 0), 0, robots=3, steps=6)
last: dict[str, Step] = {}


def show(step: Step, t: int) -> None:
    """Print how good the maps are after a step and what the robots sent."""
    last['step'] = step
    f1 = [100 * score(mapper.occupancy(), run.truth).f1 for mapper in step.mappers]
    print(f'step {t + 1}: F1 {" ".join(f"{value:.1f}" for value in f1)}, {step.bytes.sum():.0f} B')


run_swarm(run, packaged(), take=show)
paths = [run.poses[:, robot, :2] for robot in range(3)]
write_panels(
    [
        Panel('truth and trajectories', run.map.reduced_to(0.05), paths),
        Panel('map of the first robot', last['step'].mappers[0].occupancy(), paths[:1]),
    ],
    picture,
)
print(picture)

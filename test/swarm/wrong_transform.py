"""Robots of which one joins the others in a wrong place, in process: with it and without.

As a program it prints, for plans that are given as arguments, when that robot left the frame and
what F1 was in the end: python test/swarm/wrong_transform.py generated:60 generated:61
"""

import sys

import numpy as np
from misled import Misled, error_of

from delama_ros.swarm.description import from_mapping
from delama_ros.swarm.local import LocalSwarm
from delama_ros.swarm.record import Record
from delama_ros.transport.local import partition

ROBOTS = ['ann', 'bob', 'cid']
WRONGED = 'cid'
APART = 6  # steps in which it is out of reach
STEPS = 15
LINKS = {name: [peer for peer in ROBOTS if peer != name] for name in ROBOTS}
FAR, NEAR = '2 0 40', '0.4 0 6'  # m and degrees


def run(plan: str, seed: int, error: str) -> Record:
    """Let a robot come into reach of the others and join them; error: by which its map is off."""
    description = from_mapping({
        'robots': ROBOTS, 'plan': plan, 'seed': seed, 'steps': STEPS, 'starts': 'unknown',
    })
    swarm = LocalSwarm(description, Record(description.robots, STEPS, free=True))
    apart = partition(LINKS, [['ann', 'bob'], [WRONGED]])
    for step in range(1, STEPS + 1):
        swarm.run_step(step, apart if step <= APART else LINKS)
        if step == APART and error:
            robot = swarm.robots[WRONGED]
            assert robot.rendezvous is not None
            robot.rendezvous.choice = Misled(
                robot.rendezvous.choice, robot.mapper, error_of(error)
            )
    return swarm.record


def f1(record: Record, step: int) -> tuple[float, float]:
    """Return F1 of the others, on average, and of the robot in question, in per cent."""
    row = dict(record.f1[step])
    own = row.pop(WRONGED)
    return 100 * float(np.mean(list(row.values()))), 100 * own


def stay(record: Record) -> tuple[int, int | None]:
    """Return the first step of the robot in the frame it joined, and that in which it had left."""
    joined = min(join.step for join in record.joins if join.robot == WRONGED)
    after = [t for t in range(joined, STEPS + 1)
             if record.frames[t][WRONGED] != record.frames[joined][WRONGED]]
    return joined, min(after, default=None)


def main(plans: list[str], seed: int = 0) -> None:
    for plan in plans:
        right = run(plan, seed, '')
        if right.joined(STEPS) < len(ROBOTS):
            print(f'{plan}: not all have joined by step {STEPS}', flush=True)
            continue
        for error in (FAR, NEAR):
            wrong = run(plan, seed, error)
            joined, left = stay(wrong)
            gaps = np.subtract([f1(wrong, t) for t in range(joined, STEPS + 1)],
                               [f1(right, t) for t in range(joined, STEPS + 1)])
            print(f'{plan} {error:8s} joined {joined}, left {left}, '
                  f'in the end {wrong.joined(STEPS)} in one frame; F1 of the others, and its own, '
                  f'against the right run: {gaps[-1].round(1).tolist()}, '
                  f'worst {gaps.min(0).round(1).tolist()}', flush=True)


if __name__ == '__main__':
    main(sys.argv[1:])

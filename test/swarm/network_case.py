"""Five robots on hosts of their own: loss, partition, healing. Run by test_network.py, at the desk.

A process of its own, because Fast DDS keeps the network interfaces that it finds first. Prints what
it saw as JSON; an assertion that fails ends it.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
from hosts import Hosts
from live import LiveSwarm

from delama_ros.resources import resource
from delama_ros.swarm.description import from_mapping

SIDES = (['ann', 'bob'], ['cid', 'dot', 'eve'])
ROBOTS = [name for side in SIDES for name in side]
DESK = 'desk'  # where the simulator and the observer are; every robot hears it


def others(name: str, group: list[str] = ROBOTS) -> set[str]:
    return set(group) - {name}


def seconds(swarm: LiveSwarm, first: int) -> float:
    """Return the median of what steps took since the given one."""
    rows = [r for t, rows in swarm.record.rounds.items() if t >= first for r in rows.values()]
    return float(np.median([row.seconds for row in rows]))


def main(mark: str, folder: Path) -> None:
    """Run the swarm through what may happen to a network."""
    hosts = Hosts([*ROBOTS, DESK], mark)
    description = from_mapping(
        {
            'robots': ROBOTS,
            'steps': 1000,
            'seed': 5,
            'period': 1.5,
            'deadline': 0.8,
            'localization': 'tf',
            'simulator': {'thicken_walls': 0.05, 'scan_rate': 2.0},
        }
    )
    with LiveSwarm(description, folder, dict(os.environ)) as swarm:

        def step() -> int:
            return min(swarm.step_of(name) for name in ROBOTS)

        def f1() -> list[float]:
            return [swarm.f1(name) for name in ROBOTS]

        def meet(*groups: list[str]) -> None:
            """Wait until each robot has collaborated with all others of its group."""
            for group in groups:
                for name in group:
                    swarm.until(lambda n=name, g=group: swarm.peers(n) == others(n, g))

        for name in ROBOTS:
            swarm.start_robot(name, hosts.prefix(name))
        swarm.start_simulator()
        meet(ROBOTS)
        swarm.until(lambda: step() >= 4)
        told = {'sound': f1(), 'sound_s': seconds(swarm, 2)}

        # A fifth of all packets between robots is lost.
        began = step() + 1
        hosts.lose(0.2, ROBOTS)
        swarm.until(lambda: step() >= began + 5)
        swarm.until(lambda: min(f1()) > min(told['sound']) - 0.02)
        told |= {'loss': f1(), 'loss_s': seconds(swarm, began)}
        told['lost_packets'] = sum(hosts.dropped(name) for name in ROBOTS)
        hosts.heal()

        # Two robots and three do not hear each other: each side goes on mapping.
        hosts.part(*SIDES)
        began = step()
        meet(*SIDES)
        swarm.until(lambda: step() >= began + 4)
        told |= {'apart': f1(), 'cut_packets': sum(hosts.dropped(name) for name in ROBOTS)}
        hosts.heal()

        # Healed: all find each other again and agree.
        began = step()
        meet(ROBOTS)
        told['healed_after_steps'] = step() - began
        swarm.until(lambda: max(f1()) - min(f1()) < 0.02)
        told['healed'] = f1()
        logs = {name: swarm.log(name) for name in ROBOTS}
    signs = ('Traceback', 'worker failed')
    told['failures'] = [n for n, log in logs.items() if any(sign in log for sign in signs)]
    print(json.dumps(told))


if __name__ == '__main__':
    os.environ['FASTRTPS_DEFAULT_PROFILES_FILE'] = str(resource('config/fastdds_wifi.xml'))
    main(sys.argv[1], Path(sys.argv[2]))

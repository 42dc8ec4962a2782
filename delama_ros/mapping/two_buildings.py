"""Two teams in two buildings whose frames overlap: does the graph keep them apart (eq. 17)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.evaluate import each, summary
from delama_ros.mapping.rows import Protocol, Rows
from delama_ros.mapping.runner import Step, run_swarm
from delama_ros.mapping.score import score
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

TEAMS = (3, 2)
# Changes of settings, and whether links between the buildings are cut beforehand.
GRAPHS: dict[str, tuple[dict[str, Any], bool]] = {
    'delama': ({}, False),
    'delama_oracle_graph': ({}, True),
    'delama_uniform': ({'distance': 'paper', 'lambda3': 1e6}, False),
    'delama_paper_distance': ({'distance': 'paper'}, False),
}


def on_pair(
    specs: tuple[str, str], *, protocol: Protocol, checkpoint: Checkpoint
) -> dict[str, Rows]:
    """Run every graph on one pair of plans; robots are scored on the building they are in."""
    runs = [
        mapping_run(
            prepare(load(spec), protocol.seed), protocol.seed, robots=team, steps=protocol.steps
        )
        for spec, team in zip(specs, TEAMS, strict=True)
    ]
    both = replace(
        runs[0],
        poses=np.concatenate([run.poses for run in runs], 1),
        ranges=np.concatenate([run.ranges for run in runs], 1),
    )
    building = np.repeat([0, 1], TEAMS)
    together: npt.NDArray[np.bool_] = building[:, None] == building
    out = {}
    for name, (changes, cut) in GRAPHS.items():
        rows = Rows(both, protocol)

        def take(step: Step, t: int, rows: Rows = rows) -> None:
            scores = [
                score(mapper.occupancy(), runs[b].truth)
                for mapper, b in zip(step.mappers, building, strict=True)
            ]
            rows.add_scores(scores, float(step.bytes.mean()), step.seconds)

        run_swarm(
            both,
            checkpoint,
            links=together if cut else None,
            take=take,
            **changes,
        )
        out[name] = rows
    return out


def evaluate_pairs(
    specs: Sequence[str],
    protocol: Protocol,
    checkpoint: Checkpoint,
    *,
    jobs: int = 1,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Run every graph on plans taken two by two; the layout of figures is that of `evaluate`."""
    pairs = list(zip(specs[0::2], specs[1::2], strict=False))
    work = partial(on_pair, protocol=protocol, checkpoint=checkpoint)
    results = list(each(work, pairs, jobs=jobs, say=say))
    return {
        'protocol': vars(protocol),
        'plans': len(pairs),
        'methods': {name: summary([r[name].values for r in results]) for name in GRAPHS},
    }

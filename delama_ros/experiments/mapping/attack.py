"""Robots that lie: what honest robots' maps are worth with liars among them, and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from delama_ros.core.agent.agent import Agent
from delama_ros.core.agent.messages import Message
from delama_ros.experiments.mapping.dataset import scan_of
from delama_ros.experiments.mapping.evaluate import on_plans, plan_cell
from delama_ros.experiments.mapping.lies import SHIFT, Liar
from delama_ros.experiments.mapping.rows import Protocol
from delama_ros.experiments.runner import Cell, Figures, Runner
from delama_ros.geometry.score import score
from delama_ros.mapping.checkpoint import Checkpoint
from delama_ros.mapping.default import make_mapper
from delama_ros.transport.local import LocalTransport, Traffic
from delama_ros.transport.port import Encoding, Port
from delama_sim.plans import load
from delama_sim.protocol import mapping_run, prepare

NONE = 'none'  # everybody is honest
SILENT = 'silent'  # liars fall silent instead: what lies are measured against


class LyingTransport(LocalTransport):
    """A transport on which some robots' messages are replaced by lies, with every digit."""

    def __init__(self, agents: Sequence[Agent], liars: Mapping[str, Liar]) -> None:
        """Let these liars lie; others send changes only, as robots do."""
        super().__init__(agents, encoding=Encoding.DELTA)
        self.liars: Mapping[str, Liar] = {}
        for name in liars:
            self._ports[name] = Port(name, Encoding.FLOAT64)

    def _send(
        self, name: str, messages: list[Message], reach: Mapping[str, list[str]], traffic: Traffic
    ) -> None:
        liar = self.liars.get(name)
        if liar is not None:
            messages = [said for message in messages for said in liar.tell(message)]
        super()._send(name, messages, reach, traffic)


def _on_plan(cell: Cell, checkpoint: Checkpoint) -> Figures:
    """Run honest robots and liars on one plan."""
    protocol, lie = Protocol(**cell['protocol']), cell.method
    count, begin, until = cell['liars'], cell['begin'], cell['until']
    run = mapping_run(
        prepare(load(cell['plans'][0]), protocol.seed), protocol.seed,
        robots=protocol.robots, steps=protocol.steps,
    )
    names = [f'robot_{i}' for i in range(protocol.robots)]
    mappers = {name: make_mapper(name, checkpoint) for name in names}
    honest = names[: len(names) - count]
    others = names[len(honest) :]
    if lie == SILENT:
        until = begin - 1
    lying = others if lie not in (NONE, SILENT) else []
    liars = {name: Liar(lie, mappers[name], protocol.seed) for name in lying}
    transport = LyingTransport([m.agent for m in mappers.values()], liars)
    turn = np.random.default_rng([protocol.seed, 0x11A]).uniform(0, 2 * np.pi)
    wrong = SHIFT * np.array([np.cos(turn), np.sin(turn), 0.0])
    out: Figures = {'f1': [], 'bytes': [], 'distrusted': [], 'accused': []}
    for t in range(protocol.steps):
        active = begin <= t + 1 <= until
        if active:
            transport.liars = liars
        for i, name in enumerate(names):
            moved = wrong if name in liars and lie == 'shift' and active else np.zeros(3)
            x, y, yaw = (run.poses[t, i] + moved).tolist()
            mappers[name].add_scan(scan_of(run, t, i), (x, y, yaw))
            mappers[name].prepare()
        present = names if lie == NONE or t + 1 <= until else honest
        traffic = transport.run_step(
            t + 1, {a: [b for b in present if b != a] for a in present}
        )
        scores = [100 * score(mappers[name].occupancy(), run.truth).f1 for name in honest]
        doubted = [mappers[name].trust.distrusted for name in honest]
        out['f1'].append(float(np.mean(scores)))
        out['bytes'].append(float(np.mean([traffic.bytes[name] for name in honest])))
        out['distrusted'].append(float(np.mean([len(d & set(lying)) for d in doubted])))
        out['accused'].append(sum(len(d - set(lying)) for d in doubted))
    return out


def evaluate_attacks(
    specs: Sequence[str], protocol: Protocol, checkpoint: Checkpoint, lies: Sequence[str],
    runner: Runner, *, liars: int, begin: int, until: int, seeds: Sequence[int],
) -> dict[str, Figures]:
    """Run every lie, and none, on all plans and seeds.

    Args:
        specs: Plans.
        protocol: Robots and steps.
        checkpoint: The tile model of all robots.
        lies: Names of lies.
        runner: Computes a cell per plan, lie and seed.
        liars: How many of the robots lie.
        begin: First step with a lie.
        until: Last one; then liars are gone.
        seeds: Of the runs on each plan.

    Returns:
        By lie, as lists over t: `honest_f1` and `baseline_f1` (liars fall silent instead), `worst`
        (largest loss in one run), `bytes` that an honest robot sends, `distrusted` (liars that an
        honest robot distrusts) and `accused` (how often honest robots distrust each other).
    """

    def cells(lie: str) -> list[Cell]:
        return [
            plan_cell(
                lie, [spec], Protocol(protocol.robots, protocol.steps, seed), checkpoint, 'attack',
                liars=liars, begin=begin, until=until,
            )
            for spec in specs for seed in seeds
        ]

    every = [NONE, SILENT, *lies]
    groups = zip(*(cells(lie) for lie in every), strict=True)
    found = on_plans(_on_plan, [cell for group in groups for cell in group], checkpoint, runner)
    by_lie = {lie: found[k :: len(every)] for k, lie in enumerate(every)}

    def over(lie: str, key: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.array([figures[key] for figures in by_lie[lie]], np.float64)

    base = over(SILENT, 'f1')
    out: dict[str, Figures] = {}
    for lie in every:
        loss = base - over(lie, 'f1')
        out[lie] = {
            'honest_f1': over(lie, 'f1').mean(0).round(3).tolist(),
            'baseline_f1': base.mean(0).round(3).tolist(),
            'worst': loss.max(0).round(3).tolist(),
            'bytes': over(lie, 'bytes').mean(0).round(1).tolist(),
            'distrusted': over(lie, 'distrusted').mean(0).round(3).tolist(),
            'accused': over(lie, 'accused').sum(0).tolist(),
        }
    return out

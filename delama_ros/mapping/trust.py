"""Whose maps a robot believes: what they say is bounded, compared, and dropped where it is wrong.

Before a model is fused it is bounded by what a scanner can have produced. Local learning minimises
½ Σ_c w_c (t_c − θᵀφ_c)² + λ1 ‖θ‖² over the cells c of a tile, so its solution satisfies

    θᵀ(M + 2 λ1 I) θ ≤ T² Σ_c w_c,    T the largest target,

and what claims little evidence can pull but little. Evidence is bounded by a few times the middle
of what all robots claim, but by no less than the own.

Then maps are compared (`agreement`): each with what its robot said in the step before, with the own
map, which nobody can outvote, and with each other, where the own counts twice. As long as some map
contradicts the majority of the others by more than honest maps do, the worst one is taken out, and
the rest are compared again. Of maps that are believed as a whole, single tiles are dropped in which
they are outvoted. A robot that was taken out comes back when its map has been in order for some
steps, each time more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from delama_ros.core.blocks import Codes, Floats, Model
from delama_ros.core.settings import Settings
from delama_ros.geometry.grid import Bools
from delama_ros.mapping.agreement import Agreement, Sketch, Views
from delama_ros.mapping.tiles import PARTS, TileModel
from delama_ros.mapping.verdict import (
    CHANGES,
    LONGEST,
    STRIKES,
    Found,
    Suspect,
    Verdict,
    allowed,
)

OWN = 2.0  # witnesses that the own map counts as
TILE = 0.3  # m in one tile that are contradicted, and more than agree: the tile is dropped
SLACK = 1.25  # rounding of messages, and M in place of A
CONFIRMED = 5.0  # m that must agree of what a robot said before it was caught
IMPOSSIBLE = 4.0  # times what a scanner can produce: no rounding explains that
HEAVY = 4.0  # times the middle of what robots claim: more evidence than that does not count


class _Bounded(NamedTuple):
    model: Model
    sketch: Sketch
    impossible: bool


class _Said(NamedTuple):
    step: int
    epoch: int
    sketch: Sketch
    model: Model
    pending: Codes  # tiles that have not changed since the epoch began, but still may

    def pending_in(self, model: Model) -> Codes:
        """Return which of the pending tiles are the same in a later model."""
        old = self.model.take(np.isin(self.model.codes, model.codes))
        old = old.take(np.isin(old.codes, self.pending))
        at = np.searchsorted(model.codes, old.codes)
        return old.take((old.theta == model.theta[at]).all(axis=(1, 2))).codes


class Trust:
    """Judges the models that a robot receives, step by step."""

    def __init__(self, model: TileModel, settings: Settings) -> None:
        """Begin with nobody under suspicion.

        Args:
            model: what the models mean.
            settings: λ1 of local learning, forgetting, and the distance: with another than the
                overlap of maps, as in comparisons, the graph alone decides whose model counts.
        """
        self._judges = settings.distance == 'overlap'
        self._agreement = Agreement(model)
        self._target = float(np.abs(model.targets).max())
        self._ridge = 2 * float(settings.lambda1_local)
        self._cells = model.cells
        self._strikes = CHANGES if settings.accumulate == 'forget' else STRIKES
        self._suspects: dict[str, Suspect] = {}
        self._step = 0
        self._cap, self._robots = 0.0, 1
        self._accepted: list[Sketch] = []  # the own and those believed, of this step
        self._said: dict[str, _Said] = {}  # by each robot, in the last step
        self.verdicts: dict[str, Verdict] = {}

    @property
    def distrusted(self) -> frozenset[str]:
        """Robots whose maps contradict what others have seen."""
        return frozenset(name for name, s in self._suspects.items() if s.distrusted)

    def said_of(self, robot: str) -> str:
        """Return why a robot's map is not believed, in one line; empty if it is."""
        verdict = self.verdicts.get(robot)
        return '' if verdict is None else verdict.text

    def admit(self, step: int, own: Model, models: Mapping[str, Model]) -> dict[str, Model]:
        """Begin a step: return what is believed of the local models of other robots.

        Args:
            step: its number.
            own: model of the robot's own data.
            models: by robot, those of robots that left included.
        """
        if not self._judges:
            return dict(models)
        self._step = step
        names = list(models)
        peaks = [float(m.evidence.max(initial=0.0)) for m in (own, *models.values())]
        claimed = [peak for peak in peaks if peak > 0] or [0.0]
        # Names that claim next to nothing must not lower it below what this robot has itself.
        self._cap = HEAVY * max(peaks[0], float(np.quantile(claimed, 0.5, method='lower')))
        self.verdicts, self._robots = {}, 1 + len(names)
        self._suspects = {n: s for n, s in self._suspects.items() if n in models or s.distrusted}
        self._said = {n: said for n, said in self._said.items() if n in models}
        sketch = self._agreement.sketch(own, self._agreement.deviations(own))
        bounded = [self._bounded(models[name], self._cap) for name in names]
        views = self._agreement.views([sketch, *(b.sketch for b in bounded)])
        out = np.array([self._unlikely(n, b) for n, b in zip(names, bounded, strict=True)], bool)
        self._note(names, *self._wrong(views, names, out))
        believed = np.array([True, *(name not in self.distrusted for name in names)])
        kept = self._outvoted(views, believed)
        admitted, self._accepted = {}, [sketch]
        for name, own_kept, (model, sketch, _) in zip(names, kept[1:], bounded, strict=True):
            if name not in self.distrusted:
                dropped = views.codes[~own_kept]
                admitted[name] = model.take(~np.isin(model.codes, dropped))
                self._accepted.append(sketch.without(dropped))
        return admitted

    def admit_more(
        self, models: Mapping[str, Model], *, least: float = 0.0
    ) -> dict[str, Model]:
        """Return what is believed of other models, later in the same step.

        These are models that neighbours pass on, made of what many have seen, and what robots said
        before they were caught. They are judged, but witness nothing, and nobody is blamed.

        Args:
            models: by robot.
            least: m that must agree with what others have seen.
        """
        if not self._judges:
            return dict(models)
        admitted = {}
        witness = np.array([OWN, *np.ones(len(self._accepted) - 1), 0.0])
        for name, model in models.items():
            sources = min(max(1, len(model.epochs)), self._robots)
            bounded, sketch, _ = self._bounded(model, self._cap * sources)
            views = self._agreement.views([*self._accepted, sketch])
            against, agreed = (part[-1] for part in self._agreement.tally(views, witness))
            total = float(against.sum()), float(agreed.sum())
            if total[1] >= least and total[0] <= allowed(*total):
                out = views.codes[(against >= TILE) & (against > agreed)]
                admitted[name] = bounded.take(~np.isin(bounded.codes, out))
        return admitted

    def _bounded(self, model: Model, cap: float) -> _Bounded:
        """Return a model with no more evidence, and no larger θ, than a scanner can produce."""
        values = self._agreement.deviations(model)
        size = self._cells // PARTS
        cut = values.reshape(-1, PARTS, size, PARTS, size)
        squares = np.einsum('npiqj,npiqj->npq', cut, cut).reshape(-1, PARTS**2)
        ridge = self._ridge * (model.theta**2).sum((1, 2))
        most = (self._target * size) ** 2  # of a part's squares, per evidence

        def sides(evidence: Floats) -> tuple[Floats, Floats]:
            """Return θᵀ(M + 2 λ1 I) θ of every tile (n,), and what it can be at most."""
            return (evidence * squares).sum(1) + ridge, most * evidence.sum(1)

        used, allowed = sides(model.evidence)
        impossible = used.sum() > IMPOSSIBLE * allowed.sum() + self._target**2
        evidence = np.minimum(model.evidence, cap)
        used, allowed = sides(evidence)
        scale = np.sqrt(np.minimum(1.0, SLACK * allowed / np.maximum(used, 1e-300)))
        less = Model(model.codes, model.theta * scale[:, None, None], evidence, model.epochs)
        sketch = self._agreement.sketch(less, values * scale[:, None].astype(np.float32))
        return _Bounded(less, sketch, bool(impossible))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return who is under suspicion, as arrays."""
        rows = [astuple(suspect) for suspect in self._suspects.values()]
        return {
            'suspects': np.array(list(self._suspects), np.str_),
            'suspicions': np.array(rows, np.int64).reshape(-1, 5),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from what `state` returned; nobody is suspected where it says nothing.

        Raises:
            ValueError: if the arrays do not fit together.
        """
        names, rows = state.get('suspects', np.zeros(0, np.str_)), state.get('suspicions')
        rows = np.zeros((0, 5), np.int64) if rows is None else rows
        if rows.shape != (len(names), 5):
            raise ValueError(f'saved suspicions have shape {rows.shape}, expected {len(names)} × 5')
        self._suspects = {
            str(name): Suspect(strikes, clean, bool(distrusted), since, min(wait, LONGEST))
            for name, (strikes, clean, distrusted, since, wait) in zip(
                names, rows.tolist(), strict=True
            )
        }
        self.verdicts = {}

    def _unlikely(self, name: str, said: _Bounded) -> bool:
        """Return whether a map cannot be, whatever others have seen; begins the robot's verdict.

        It claims what no scanner measures, or contradicts what its robot itself has said before,
        without having corrected its poses in between. A correction of a large map takes several
        steps to arrive: until a tile changes for the first time, it may be one of those to come.
        """
        epoch = said.model.epochs.get(name, 0)
        itself = Verdict(0.0, 0.0, impossible=said.impossible)
        before = self._said.get(name)
        pending = said.model.codes[:0]
        if before is not None and before.epoch != epoch:
            pending = before._replace(pending=before.model.codes).pending_in(said.model)
        elif before is not None and self._step <= before.step + LONGEST:
            pending = before.pending_in(said.model)
            corrected = before.pending[~np.isin(before.pending, pending)]
            views = self._agreement.views([before.sketch.without(corrected), said.sketch])
            tally = self._agreement.tally(views, (1.0, 0.0))
            against, agreed = (float(part[1].sum()) for part in tally)
            if against > allowed(against, agreed):
                itself = replace(itself, against=against, agreed=agreed, witnesses=(name,))
        if not itself.witnesses:  # else it is held to what it said before
            self._said[name] = _Said(self._step, epoch, said.sketch, said.model, pending)
        self.verdicts[name] = itself
        return itself.impossible or bool(itself.witnesses)

    def _wrong(self, views: Views, names: list[str], unlikely: Bools) -> tuple[Bools, Bools]:
        """Return whose maps contradict those of others, and whose gravely; complete the verdicts.

        First those that contradict the own map, which nobody can outvote; then, as long as a map
        contradicts the majority of the others, the worst one is taken out.
        """
        own = self._judged(views, np.zeros_like(unlikely))
        out, grave = unlikely | (own.excess > 0), unlikely | own.grave
        judged = out.copy()
        while True:
            found = self._judged(views, ~judged)
            share = found.against / np.maximum(found.agreed, 1e-9)
            share[judged | (found.excess <= 0)] = -1.0
            if share.max(initial=-1.0) < 0:
                break
            judged[np.argmax(share)] = True
        out, grave = out | (found.excess > 0), grave | found.grave
        witness = np.array([OWN, *(~judged)], np.float32)
        for k, name in enumerate(names):
            if name in self.verdicts[name].witnesses:
                continue  # it contradicts itself
            saw = witness * self._agreement.opposed(views, k + 1) if out[k] else np.zeros(0)
            who = [('', *names)[s] for s in np.argsort(-saw, kind='stable') if saw[s] > 0]
            self.verdicts[name] = replace(
                self.verdicts[name], against=float(found.against[k]),
                agreed=float(found.agreed[k]), witnesses=tuple(who),
            )
        return out, grave

    def _judged(self, views: Views, witnesses: Bools) -> Found:
        """Return how far the other maps fit what the own and some of them say."""
        tally = self._agreement.tally(views, np.array([OWN, *witnesses], np.float32))
        against, agreed = (part.sum(1)[1:].astype(float) for part in tally)
        return Found(against, agreed)

    def _note(self, names: list[str], wrong: Bools, grave: Bools) -> None:
        """Keep account of who is believed."""
        for name, bad, worse in zip(names, wrong.tolist(), grave.tolist(), strict=True):
            if bad:
                self._suspects.setdefault(name, Suspect())
            suspect = self._suspects.get(name)
            if suspect is not None:
                suspect.note(self._step, self._strikes, wrong=bad, grave=worse)
                if suspect.distrusted:
                    self.verdicts[name] = replace(self.verdicts[name], since=suspect.since)

    def _outvoted(self, views: Views, believed: Bools) -> Bools:
        """Return which tiles (S, n) of maps count: not those in which a map is outvoted."""
        kept = np.repeat(believed[:, None], len(views.codes), axis=1)
        witness = np.where(believed, 1.0, 0.0)
        witness[0] = OWN
        tally = self._agreement.tally(views, witness)
        while True:
            against, agreed = tally
            out = kept & (against >= TILE) & (against > agreed)
            out[0] = False
            if not out.any():
                return kept
            # Of several that contradict each other in a tile, the one that agrees least goes first.
            share = np.where(out, against / np.maximum(against + agreed, TILE), -1.0)
            tiles = np.flatnonzero(out.any(0))
            kept[np.argmax(share, axis=0)[tiles], tiles] = False
            tally = self._agreement.tally(views.masked(kept), witness)

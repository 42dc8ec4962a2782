"""One attempt to find a peer's frame: patch by patch, so that it can stop whenever time is up.

Maps of a flat's size are one patch each, and one match with enough behind it decides. A small map
is looked for in patches of a large one. Two large maps are cut into windows, which vote; so are
two large flats that do not match as a whole, for they may be bent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from delama_ros.rendezvous.candidates import side_of
from delama_ros.rendezvous.chain import lay
from delama_ros.rendezvous.outcome import (
    Outcome,
    Placed,
    Reason,
    Rule,
    agree,
    mean,
    nothing,
    place,
)
from delama_ros.rendezvous.patches import (
    RIGID,
    Patch,
    is_large,
    patches_of,
    search_patches_of,
)
from delama_ros.rendezvous.refine import Refined, refine
from delama_ros.rendezvous.register import SAME, Match, matches, repeated
from delama_ros.rendezvous.se2 import Floats, apply, compose, compose_covariance
from delama_ros.rendezvous.surface import Surface
from delama_ros.rendezvous.verify import verify
from delama_ros.rendezvous.voting import Known, WindowSearch
from delama_ros.rendezvous.window import StartPrior

BENT = (Reason.LITTLE_SHARED, Reason.CONTRADICTED, Reason.WEAK_DIRECTION)  # maps may be, or differ


class Search:
    """An attempt, one pair of patches per step."""

    def __init__(
        self, own: Surface, peer: Surface, rule: Rule | None = None, *,
        prior: StartPrior | None = None, known: Known | None = None,
    ) -> None:
        """Prepare an attempt.

        Args:
            own: the map whose frame stays.
            peer: the map to be placed.
            rule: what a match needs.
            prior: how well it is known that the frames coincide, if it is.
            known: what earlier attempts between these frames found out about large maps.

        """
        rule = rule or Rule()
        self._windows: WindowSearch | None = None
        self._bent = prior is None and is_large(own, RIGID) and is_large(peer, RIGID)
        if self._bent:
            self._windows = WindowSearch(own, peer, rule, known)
        pairs = [] if prior is None and self.votes(own, peer) else [
            (a, b, None if prior is None else prior.window(a, b, (own, peer)))
            for b in search_patches_of(peer) for a in search_patches_of(own)
        ]
        self._pairs = [
            (a, b, window) for a, b, window in pairs if window is None or window.touches(a, b)
        ][: rule.pairs]
        # The share of the metres of `rule` that decide, as there is less to choose from.
        self._effort = max(
            (1.0 if w is None else w.effort(side_of(a, b)) for a, b, w in self._pairs), default=1.0
        )
        self._rule = replace(
            rule, least=self._effort * rule.least, lead=self._effort * rule.lead,
            hint=self._effort * rule.hint, weak=self._effort * rule.weak,
        )
        self._surfaces = own, peer
        self._shorter = min(own.length, peer.length)
        self._at = 0
        self._found: list[Placed] = []
        self._refuted: list[Placed] = []  # windows that agree, but the rest of the map does not
        self._whole: Outcome | None = None  # that of maps as they are, before windows vote
        self.outcome: Outcome | None = None
        if not self._pairs and self._windows is None:
            self.outcome = nothing(Reason.LITTLE_MAPPED)

    @property
    def complete(self) -> bool:
        """Whether no window was left out for want of time."""
        return self._windows is None or self._windows.complete

    @staticmethod
    def votes(own: Surface, peer: Surface) -> bool:
        """Whether both maps are larger than a flat."""
        return is_large(own) and is_large(peer)

    def step(self) -> Outcome | None:
        """Register the next pair of patches; returns the outcome once there is one."""
        if self.outcome is not None:
            return self.outcome
        if self._at == len(self._pairs):
            assert self._windows is not None
            outcome = self._vote(self._windows)
            if outcome is not None:
                self.outcome = outcome if outcome.accepted else self._whole or outcome
            return self.outcome
        own, peer, window = self._pairs[self._at]
        self._at += 1
        likely = len(self._pairs) > 1  # of a large map only turns that its directions suggest
        for match in matches(own, peer, window=window, likely=likely)[:8]:
            placed = place(own, peer, match, self._effort)
            self._found = _added(self._found, placed)
        if self._at == len(self._pairs):
            self._whole = self._single()
            if self._windows is None or self._whole.reason not in BENT:
                self.outcome, self._windows = self._whole, None
        return self.outcome

    def run(self) -> Outcome:
        """Run to the end."""
        while (outcome := self.step()) is None:
            pass
        return outcome

    def _single(self) -> Outcome:
        ranked = sorted(self._found, key=lambda placed: -placed.strength)
        if not ranked:
            return nothing(Reason.LITTLE_SHARED)
        best = ranked[0]
        # Patches overlap: what another one says of the same transform is no rival.
        others = [placed for placed in ranked[1:] if not agree(placed, best, SAME)]
        second = max((placed.score for placed in others), default=0.0)
        lead = best.strength - max((0.0, *(placed.strength for placed in others)))
        rule = self._rule
        exact = self._effort == 1.0 or self._spread(best) <= self._surfaces[1].resolution
        alike = self._alike(best) if exact and lead >= rule.hint else 0.0
        unique = lead - alike
        rivalled = second >= rule.ambiguous * best.score
        if best.evidence.matched < rule.hint or not exact:
            reason = Reason.LITTLE_SHARED
        elif best.strength < rule.hint:
            reason = Reason.CONTRADICTED
        elif rivalled and best.strength >= rule.least:
            reason = Reason.AMBIGUOUS
        elif best.evidence.weak < rule.weak:
            reason = Reason.WEAK_DIRECTION
        elif len(self._pairs) > 1 and self._contradicted(best.transform):
            reason = Reason.CONTRADICTED
        elif lead >= rule.lead > unique:
            reason = Reason.REPEATED
        else:
            decides = unique >= rule.lead and not rivalled
            reason = Reason.MATCHED if decides else Reason.LITTLE_SHARED
        short = reason in (Reason.LITTLE_SHARED, Reason.REPEATED)
        promising = exact and short and unique >= rule.hint
        return replace(
            self._outcome([best], reason, max(second, 0.0)), lead=unique, promising=promising,
        )

    def _alike(self, best: Placed) -> float:
        """Return the score of the matched part in its own map, in another pose, m."""
        own, peer = best.patches
        begin = compose(best.transform, np.array([*peer.centre.tolist(), 0.0]))
        window = next(w for a, b, w in self._pairs if a is own and b is peer)
        return repeated(own, peer, begin - np.array([*own.centre.tolist(), 0.0]), window)

    def _spread(self, placed: Placed) -> float:
        """Return how uncertain the peer's farthest wall is under a match, m."""
        points = self._surfaces[1].points
        far = points[np.argmax(np.linalg.norm(points - placed.centre, axis=1))]
        covariance = compose_covariance(
            placed.transform, placed.covariance, [*far.tolist(), 0.0], np.zeros((3, 3))
        )
        return float(np.sqrt(max(np.linalg.eigvalsh(covariance[:2, :2])[-1], 0.0)))

    def _vote(self, windows: WindowSearch) -> Outcome | None:
        if not windows.step():
            return None
        best, second, reason = windows.vote()
        if reason is Reason.MATCHED:
            if self._refuted != best and self._contradicted(mean(best)[0], best):
                self._refuted = best
            if self._refuted == best:
                reason = Reason.CONTRADICTED
        if reason is not Reason.MATCHED and not windows.done:
            return None
        outcome = self._outcome(best, reason, second) if best else nothing(reason)
        return replace(outcome, searched=True, complete=windows.complete, bent=True)

    def _contradicted(self, transform: Floats, found: Sequence[Placed] = ()) -> bool:
        """Whether the rest of a large map speaks against what a part of it says."""
        outcome = check(*self._surfaces, transform, self._rule, found=found)
        return outcome.reason is Reason.CONTRADICTED

    def _outcome(self, placed: list[Placed], reason: Reason, second: float) -> Outcome:
        transform, covariance, centre = mean(placed)
        matched = sum(p.evidence.matched for p in placed)
        return Outcome(
            reason is Reason.MATCHED,
            reason,
            transform,
            covariance,
            centre,
            matched,
            sum(p.evidence.against for p in placed),
            min(matched / max(self._shorter, 1e-9), 1.0),
            sum(p.score for p in placed),
            second,
            windows=len(placed),
            lead=sum(p.strength for p in placed),
            searched=True,
            bent=self._bent,
            effort=self._effort,
        )


def _added(found: list[Placed], new: Placed) -> list[Placed]:
    """Add a match, unless one of the same patch and transform is there; the better one stays."""
    for k, old in enumerate(found):
        if np.array_equal(old.centre, new.centre) and agree(old, new, SAME):
            return [*found[:k], new, *found[k + 1 :]] if new.score > old.score else found
    return [*found, new]


def check(
    own: Surface, peer: Surface, transform: Floats, rule: Rule | None = None, *,
    found: Sequence[Placed] = (),
) -> Outcome:
    """Look whether a transform (3,) still holds, and correct it a little.

    Costs some milliseconds: nothing is searched for. Of maps that may be bent, windows are judged,
    each from where its neighbours lie, or parts that were `found` before.
    """
    rule = rule or Rule()
    own_patches, peer_patches = search_patches_of(own), patches_of(peer, whole=RIGID)
    if not own_patches or not peer_patches:
        return nothing(Reason.LITTLE_MAPPED)
    if len(peer_patches) == 1:
        use = _stands(own_patches, peer_patches[0], transform)
        # What was believed once is given up for contradictions that outweigh all that agrees.
        contradicted = any(p.score < 0.0 and p.evidence.against > 1.0 for p in use)
    else:
        laid = lay(peer, own, transform, rule, known=found, overlapping=True)
        # Before it closes a loop, a part of a map may be far off while the transform is right: only
        # windows beside those that match can contradict. All can before a transform is believed.
        opposed = laid.opposed if found else laid.opposed_beside
        contradicted = len(opposed) > len(laid.found)
        use = laid.found or laid.failed
    if not use:
        return nothing(Reason.LITTLE_SHARED)
    score = sum(p.score for p in use)
    matched = sum(p.evidence.matched for p in use)
    against = sum(p.evidence.against for p in use)
    if contradicted:
        reason = Reason.CONTRADICTED
    elif score < 0.5 * rule.least or sum(p.evidence.weak for p in use) < 0.5 * rule.weak:
        reason = Reason.LITTLE_SHARED
    else:
        reason = Reason.MATCHED
    use = [p for p in use if p.score > 0.0] or use[:1]
    where, covariance, centre = mean(use)
    share = matched / max(min(own.length, peer.length), 1e-9)
    return Outcome(
        reason is Reason.MATCHED, reason, where, covariance, centre, matched, against,
        min(share, 1.0), score, windows=len(use),
        bent=is_large(own, RIGID) or is_large(peer, RIGID),
    )  # fmt: skip


def _stands(patches: list[Patch], patch: Patch, transform: Floats) -> list[Placed]:
    """Return how a peer's map matches, as it lies or refined, whichever is better; [] if bare."""
    at = apply(transform, patch.centre)
    gaps = np.array([np.abs(other.centre - at).max() for other in patches])
    nearest = patches[int(np.argmin(gaps))]
    if gaps.min() > 0.5 * max(nearest.open.shape) * nearest.resolution + patch.reach:
        return []
    begin = np.array([*(at - nearest.centre).tolist(), float(transform[2])])
    held = verify(nearest, patch, begin)
    if held.matched + held.against < 0.5:
        return []
    refined = refine(nearest, patch, begin)
    moved = Match(refined, verify(nearest, patch, refined.transform))
    unmoved = Match(Refined(begin, refined.information, refined.residual), held)
    return [max((place(nearest, patch, m) for m in (moved, unmoved)), key=lambda p: p.score)]

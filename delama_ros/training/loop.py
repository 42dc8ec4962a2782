"""The training loop of every task: stages, Adam, checks on validation data, the best model kept.

Iteration k of a stage draws from a generator of its own, so nothing but the iteration number has to
be kept for a stopped run to go on to the same end, bit by bit.
"""

from __future__ import annotations

import json
import math
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from delama_ros.geometry.map_file import write_whole
from delama_ros.training import processes

CLIP = 5.0  # norm of all gradients together

State: TypeAlias = dict[str, Tensor]
Parameters: TypeAlias = list[nn.Parameter]


@dataclass(frozen=True)
class Check:
    """How a model does on validation data."""

    score: float  # decides which model is kept: higher is better
    values: Mapping[str, Any]  # numbers, or lists over t, to be shown, logged and drawn


@dataclass(frozen=True)
class Stage:
    """A part of training with its own loss, rates and end."""

    name: str
    iterations: int
    groups: Sequence[tuple[Parameters, float]]  # what is learned, and the rate it begins with
    loss: Callable[[np.random.Generator], Tensor]
    check: Callable[[], Check]
    every: int = 50  # iterations between checks
    patience: int = 5  # checks without progress after which the stage ends
    floor: float = 0.025  # of the first group's rate, where the cosine decay of all rates ends
    warm_up: float = 0.0  # share of the iterations in which rates rise from 0, before the cosine
    decay: float = 0.0  # of all that is learned, in a unit of the rate


@dataclass
class Progress:
    """Where a run stands."""

    stage: int = 0
    iteration: int = 0
    best: float = -math.inf
    since_best: int = 0
    seconds: float = 0.0
    curve: list[dict[str, Any]] = field(default_factory=list)  # a line per check


class Loop:
    """Trains a model through its stages; each begins with the best model of the one before."""

    def __init__(
        self,
        model: nn.Module,
        stages: Sequence[Stage],
        *,
        seed: int,
        identity: Mapping[str, Any],
        state: Path | None = None,
        log: Path | None = None,
        coefficients: Callable[[], Mapping[str, float]] = dict,
        report: Callable[[str], None] = print,
    ) -> None:
        """Go on from the file `state` if it is there; identity: JSON values a run must share.

        log: JSONL file with a line per check. coefficients: numbers shown and logged beside the
        loss.
        """
        self.model = model
        self.progress = Progress()
        self.best = copy_state(model)
        self._stages = stages
        self._seed = seed
        self._identity = json.loads(json.dumps(dict(identity)))
        self._state, self._log = state, log
        self._coefficients = coefficients
        self._report = report if processes.rank() == 0 else _silence
        self._resumed: dict[str, Any] | None = None  # state of the optimiser to go on with
        if state is not None and state.exists():
            self._restore(state)

    def run(self, on_check: Callable[[Loop], None] | None = None) -> None:
        """Train to the end; `on_check` is called after each check, `best` being the best model."""
        while self.progress.stage < len(self._stages):
            self._run_stage(self._stages[self.progress.stage], on_check)
            self.model.load_state_dict(self.best)
            last = self.progress
            self.progress = Progress(last.stage + 1, seconds=last.seconds, curve=last.curve)
        if self._state is not None and processes.rank() == 0:
            self._state.unlink(missing_ok=True)

    def _run_stage(self, stage: Stage, on_check: Callable[[Loop], None] | None) -> None:
        progress = self.progress
        optimiser = torch.optim.AdamW(
            [{'params': p, 'top': rate} for p, rate in stage.groups], weight_decay=stage.decay
        )
        if self._resumed is not None:
            optimiser.load_state_dict(self._resumed)
            self._resumed = None
        learned = [parameter for group, _ in stage.groups for parameter in group]
        losses: list[float] = []
        began = time.monotonic() - progress.seconds
        bar = tqdm(
            total=stage.iterations, initial=progress.iteration, desc=stage.name, leave=False,
            disable=None if processes.rank() == 0 else True,
        )
        with bar:
            while progress.iteration < stage.iterations and progress.since_best < stage.patience:
                losses.append(self._iterate(stage, optimiser, learned))
                progress.iteration += 1
                bar.update()
                bar.set_postfix({'loss': losses[-1], **self._coefficients()}, refresh=False)
                if progress.iteration % stage.every and progress.iteration < stage.iterations:
                    continue
                self._check(stage, float(np.mean(losses)), time.monotonic() - began)
                losses.clear()
                if processes.rank() == 0:
                    self._save(optimiser)
                    if on_check is not None:
                        on_check(self)

    def _iterate(self, stage: Stage, optimiser: torch.optim.AdamW, learned: Parameters) -> float:
        k = self.progress.iteration
        warm_up = stage.warm_up * stage.iterations
        share = max(0.0, (k - warm_up) / (stage.iterations - warm_up))
        cosine = 0.5 + 0.5 * math.cos(math.pi * share)
        floor = stage.floor * stage.groups[0][1]
        for group in optimiser.param_groups:
            rate = floor + (group['top'] - floor) * cosine
            group['lr'] = rate * min(1.0, (k + 1) / warm_up) if warm_up else rate
        loss = stage.loss(np.random.default_rng([self._seed, self.progress.stage, k]))
        value = loss.item()
        if not math.isfinite(value):
            raise ValueError(
                f'loss is {value} in iteration {k} of {stage.name}, expected a finite number: '
                'try a lower rate'
            )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        processes.average_gradients(learned)
        nn.utils.clip_grad_norm_(learned, CLIP)
        optimiser.step()
        return value

    def _check(self, stage: Stage, loss: float, seconds: float) -> None:
        progress = self.progress
        with torch.no_grad():
            check = stage.check()
        score = processes.agreed(check.score)
        progress.since_best = 0 if score > progress.best else progress.since_best + 1
        if score > progress.best:
            progress.best, self.best = score, copy_state(self.model)
        progress.seconds = seconds
        coefficients = {name: _short(value) for name, value in self._coefficients().items()}
        values = {name: _short(value) for name, value in check.values.items()}
        progress.curve.append({
            'stage': stage.name, 'iteration': progress.iteration, 'loss': _short(loss),
            'best': progress.since_best == 0, 'values': values, 'coefficients': coefficients,
            'seconds': round(seconds, 1),
        })
        shown = '  '.join(f'{name} {_text(value)}' for name, value in values.items())
        mark = ' *' if progress.since_best == 0 else ''
        self._report(
            f'{stage.name:12s} {progress.iteration:5d}/{stage.iterations}  loss {loss:.4f}  '
            f'{shown}  {seconds:.0f} s{mark}'
        )

    def _save(self, optimiser: torch.optim.AdamW) -> None:
        """Write all that is needed to go on, and the log up to here."""
        if self._log is not None:
            lines = [json.dumps(line) + '\n' for line in self.progress.curve]
            self._log.write_text(''.join(lines))
        if self._state is not None:
            state = {
                'model': self.model.state_dict(), 'best': self.best,
                'optimiser': optimiser.state_dict(), 'progress': asdict(self.progress),
                'identity': self._identity,
            }
            write_whole(self._state, lambda file: torch.save(state, file))

    def _restore(self, path: Path) -> None:
        state = read_state(path, self._identity)
        self.model.load_state_dict(state['model'])
        self.best = state['best']
        self.progress = Progress(**state['progress'])
        self._resumed = state['optimiser']
        stage = self._stages[self.progress.stage].name
        self._report(f'continuing at {stage} {self.progress.iteration}')


def read_state(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a stopped run; ValueError if it is damaged or another run's."""
    try:
        state: dict[str, Any] = torch.load(path, weights_only=True)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise ValueError(f'{path} is damaged; remove it to start over: {error}') from None
    if state['identity'] != json.loads(json.dumps(dict(identity))):
        raise ValueError(f'{path} was saved with another configuration; remove it to start over')
    return state


def copy_state(model: nn.Module) -> State:
    """Return a copy of all parameters."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _silence(text: str) -> None:
    pass


def _short(value: Any) -> Any:
    """Round a number or list to the digits that mean something, for people and files."""
    if isinstance(value, (list, tuple)):
        return [_short(item) for item in value]
    return float(f'{value:.6g}')


def _text(value: Any) -> str:
    items = value if isinstance(value, list) else [value]
    return ' / '.join(f'{item:.4g}' for item in items)

"""One training run: the loop with its files beside the checkpoint, stopped and continued."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from delama_ros.training.curves import plot_curves
from delama_ros.training.loop import Loop, Stage, State, read_state


def state_file(path: Path) -> Path:
    """Return where a stopped run keeps its state."""
    return path.with_suffix('.state')


def check_state(path: Path, identity: Mapping[str, Any]) -> None:
    """Raise ValueError if the state of another run is in the way."""
    if state_file(path).exists():
        read_state(state_file(path), identity)


def train(
    model: nn.Module, stages: Sequence[Stage], path: Path, *, seed: int,
    identity: Mapping[str, Any], made: Mapping[str, Any],
    write: Callable[[State, dict[str, Any]], None],
) -> None:
    """Train a model and write the best one, with its curves, at every check.

    Args:
        model: What is trained.
        stages: Its losses, one after the other.
        path: Checkpoint; the log, the curves and the state of a stopped run stand beside it.
        seed: Of all random choices.
        identity: JSON values that a run must share with the one it continues.
        made: How the model was made, for the checkpoint.
        write: Writes a state of the model with how it was made.

    """
    loop = Loop(
        model, stages, seed=seed, identity=identity, state=state_file(path),
        log=path.with_suffix('.jsonl'),
    )

    def store(loop: Loop) -> None:
        write(loop.best, {**made, 'curve': loop.progress.curve})
        plot_curves({path.stem: loop.progress.curve}, path.with_suffix('.png'))

    loop.run(store)

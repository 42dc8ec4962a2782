"""A folder of trained learners: what `delama train TASK` writes, and what the package ships."""

from __future__ import annotations

import hashlib
from pathlib import Path

from delama_ros.core.checkpoint import load
from delama_ros.experiments.tasks.catalogue import make_backbone
from delama_ros.experiments.tasks.learner import Learner
from delama_ros.experiments.tasks.saved import find_checkpoint, load_learner, made_of
from delama_ros.experiments.tasks.task import Task
from delama_ros.experiments.tasks.variants import SPARSE, VARIANTS, checkpoint_of

CHECKPOINTS = Path(__file__).parents[2] / 'checkpoints'


def packaged(task: str) -> Path:
    """Return the folder of the learners that come with the package."""
    return CHECKPOINTS / task


def default_folder(task: str) -> Path:
    """Return the packaged learners of a task, or where `delama train` puts those of a plugin."""
    return packaged(task) if packaged(task).is_dir() else Path('runs') / task


class TrainedRun:
    """The learners of one task, of several seeds."""

    def __init__(self, task: str, folder: Path) -> None:
        """Read what the learners were made with.

        Raises:
            ValueError: The folder holds no learners.
            CheckpointError: A checkpoint is damaged or of another task.

        """
        self.task, self.folder = task, folder
        self.seeds = sorted(
            int(path.name[4:]) for path in folder.glob('seed*') if path.name[4:].isdigit()
        )
        if not self.seeds:
            raise ValueError(
                f'{folder}: holds no seed0, seed1, …, expected a folder of `delama train {task}`'
            )
        first = folder / f'seed{self.seeds[0]}'
        path = find_checkpoint(first, 'alone')
        self.made = made_of(load(path, task=task), path)

    @property
    def digest(self) -> str:
        """Digest of all learners."""
        files = sorted(self.folder.glob('seed*/*.npz'))
        digest = hashlib.sha256(b''.join(file.read_bytes() for file in files))
        return digest.hexdigest()[:16]

    def variants(self) -> list[str]:
        """Return the variants that every seed has, sparse graphs left out."""
        return [name for name in VARIANTS if name not in SPARSE and self.has(name)]

    def has(self, variant: str) -> bool:
        """Whether every seed has the checkpoint that a variant uses."""
        folders = [self.folder / f'seed{seed}' for seed in self.seeds]
        name = checkpoint_of(variant)
        return all(find_checkpoint(folder, name).with_suffix('.npz').exists() for folder in folders)

    def learner(self, variant: str, seed: int, task: Task, rounds: int | None = None) -> Learner:
        """Load the learner of a variant.

        Args:
            variant: Its name.
            seed: Beyond those that were trained it starts again with the first.
            task: The task to run on, which may differ in its communication graph.
            rounds: Exchanges of θ per step in place of the trained number.

        """
        used = seed if seed in self.seeds else self.seeds[seed % len(self.seeds)]
        folder = self.folder / f'seed{used}'
        backbone = make_backbone(self.task, self.made['training'])
        path = find_checkpoint(folder, checkpoint_of(variant))
        return load_learner(path, task, backbone, rounds)[0]

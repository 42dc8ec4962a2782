"""`delama train mapping`: learn the features and coefficients that a swarm shares."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from delama_ros.cli.errors import UserError


def add_mapping_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `train mapping`."""
    parser = subparsers.add_parser(
        'mapping',
        help='the model a swarm of robots shares to map buildings',
        description='Meta-train the mapping model. The checkpoint always holds the model that '
        'validated best.',
        epilog='examples:\n'
        '  delama train mapping\n'
        '  delama train mapping --features 16 --out small.npz\n'
        '  delama train mapping --plans maps/ --validation generated:5000-5024\n'
        '  delama train mapping --config config/train_mapping.yaml --out mapping.npz',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--config', metavar='FILE', help='YAML file with the settings of the run')
    parser.add_argument('--plans', metavar='PLANS', help='folder or generated:A-B to train on')
    parser.add_argument('--validation', metavar='PLANS', help='folder or generated:A-B to check on')
    parser.add_argument('--features', type=int, metavar='K', help='numbers per tile')
    parser.add_argument('--seed', type=int, help='of all random choices')
    parser.add_argument(
        '--out', metavar='FILE', default='runs/mapping.npz', help='checkpoint (default %(default)s)'
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train and write the checkpoint."""
    try:
        import torch
    except ImportError:
        raise UserError('training needs torch: pip install "delama_ros[train]"') from None
    from delama_ros.mapping.default import SETTINGS
    from delama_ros.mapping.trainer import MapTraining, episodes
    from delama_ros.training.curves import plot_curves
    from delama_ros.training.loop import Loop

    torch.set_num_threads(1)
    config = _config(args)
    out = Path(args.out)
    if out.suffix != '.npz':
        raise UserError(f'--out is {out}, expected a name that ends in .npz')
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f'cannot write to {out.parent}: {error.strerror}') from error
    began = time.monotonic()
    made = {'command': shlex.join(['delama', *sys.argv[1:]])}
    try:
        training = episodes(config, config.plans, noisy=True)
        validation = episodes(config, config.validation, noisy=False)
        print(
            f'{len(training)} plans to train on, {len(validation)} to validate on, '
            f'{time.monotonic() - began:.0f} s'
        )
        run = MapTraining(config, SETTINGS, training, validation)
        loop = Loop(
            run.model, run.stages(), seed=config.seed, identity=asdict(config),
            state=out.with_suffix('.state'), log=out.with_suffix('.jsonl'),
        )

        def keep(loop: Loop) -> None:
            curve = {**made, 'curve': loop.progress.curve}
            run.checkpoint(loop.best, curve).save(out)
            plot_curves({out.stem: loop.progress.curve}, out.with_suffix('.png'))

        loop.run(keep)
    except ValueError as error:
        raise UserError(str(error)) from error
    print(f'{out}: {out.stat().st_size / 1000:.0f} kB after {time.monotonic() - began:.0f} s')
    return 0


def _config(args: argparse.Namespace) -> Any:
    from delama_ros.mapping.trainer import Config
    from delama_ros.training.config import configure, read_file

    given = ('plans', 'validation', 'features', 'seed')
    try:
        values = read_file(args.config) if args.config else {}
        values |= {name: getattr(args, name) for name in given if getattr(args, name) is not None}
        return configure(Config, values)
    except ValueError as error:
        raise UserError(str(error)) from None

"""`delama train mapping` and `train decoder`: what a swarm shares, and how maps are completed."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from delama_ros.cli.errors import UserError


def add_mapping_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `train mapping` and `train decoder`."""
    mapping = subparsers.add_parser(
        'mapping',
        help='the model a swarm of robots shares to map buildings',
        description='Meta-train the mapping model. The checkpoint always holds the model that '
        'validated best.',
        epilog='examples:\n'
        '  delama train mapping\n'
        '  delama train mapping --features 16 --out small.npz\n'
        '  delama train mapping --plans maps/ --validation generated:5000-5024\n'
        '  delama train mapping --plans --logs office.bag corridor/\n'
        '  delama train mapping --config config/train_mapping.yaml --out mapping.npz',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    mapping.add_argument(
        '--kind', choices=['tiles', 'plane'],
        help='plane: features of the place in one square of 24 m, to see that they do not do',
    )
    mapping.add_argument('--features', type=int, metavar='K', help='numbers per tile')
    mapping.add_argument(
        '--logs', metavar='FILE', nargs='+', help='recordings to train on too (bags, CARMEN logs)'
    )
    mapping.set_defaults(run=run_mapping)
    decoder = subparsers.add_parser(
        'decoder',
        help='the network that completes maps of the mapping model',
        description='Train the network that guesses the rest of a partly explored building. It '
        'belongs to one mapping model.',
        epilog='examples:\n'
        '  delama train decoder\n'
        '  delama train decoder --checkpoint mapping.npz --plans maps/ generated:1000-1200',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    decoder.add_argument('--checkpoint', metavar='FILE', help='mapping model (default: packaged)')
    decoder.set_defaults(run=run_decoder)
    for name, parser in (('mapping', mapping), ('decoder', decoder)):
        parser.add_argument('--config', metavar='FILE', help='YAML file with settings of the run')
        parser.add_argument(
            '--plans', metavar='PLANS', nargs='*',
            help='folders or generated:A-B to train on; of a folder 60 %% are used',
        )
        parser.add_argument(
            '--validation', metavar='PLANS', nargs='+',
            help='folders or generated:A-B to check on; of a folder another 10 %%',
        )
        parser.add_argument('--seed', type=int, help='of all random choices')
        parser.add_argument(
            '--out', metavar='FILE', default=f'runs/{name}.npz',
            help='checkpoint (default %(default)s)',
        )


def run_mapping(args: argparse.Namespace) -> int:
    """Train the mapping model and write the checkpoint."""
    out = _prepare(args)
    from delama_ros.mapping.default import SETTINGS
    from delama_ros.mapping.trainer import Config, MapTraining, log_data

    try:
        config = _config(args, Config, ('plans', 'validation', 'kind', 'features', 'seed', 'logs'))
        _can_go_on(config, out)
        training, validation = _episodes(config)
        run = MapTraining(config, SETTINGS, training + log_data(config), validation)
        _train(run, config, out, lambda state, made: run.checkpoint(state, made).save(out))
    except ValueError as error:
        raise UserError(str(error)) from error
    return 0


def run_decoder(args: argparse.Namespace) -> int:
    """Train the decoder and write it."""
    out = _prepare(args)
    from delama_ros.mapping.decoder_trainer import Config, DecoderTraining
    from delama_ros.mapping.default import find

    try:
        config = _config(args, Config, ('plans', 'validation', 'seed'))
        checkpoint = find(args.checkpoint)
        _can_go_on(config, out)
        run = DecoderTraining(config, checkpoint, *_episodes(config))
        _train(run, config, out, lambda state, made: run.decoder(state, made).save(out))
    except ValueError as error:
        raise UserError(str(error)) from error
    return 0


def _prepare(args: argparse.Namespace) -> Path:
    """Return where to write, once it is clear that training can begin."""
    try:
        import torch
    except ImportError:
        raise UserError('training needs torch: pip install "delama_ros[train]"') from None
    torch.set_num_threads(1)
    out = Path(args.out)
    if out.suffix != '.npz':
        raise UserError(f'--out is {out}, expected a name that ends in .npz')
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f'cannot write to {out.parent}: {error.strerror}') from error
    return out


def _config(args: argparse.Namespace, kind: Any, given: tuple[str, ...]) -> Any:
    from delama_ros.training.config import configure, read_file

    values = read_file(args.config) if args.config else {}
    values |= {name: getattr(args, name) for name in given if getattr(args, name) is not None}
    return configure(kind, values)


def _can_go_on(config: Any, out: Path) -> None:
    """ValueError if a stopped run is in the way: better to know before plans are scanned."""
    from delama_ros.training.loop import read_state

    state = out.with_suffix('.state')
    if state.exists():
        read_state(state, asdict(config))


def _episodes(config: Any) -> tuple[Any, Any]:
    """Let robots scan the plans to train on and those to validate on."""
    from delama_ros.mapping.trainer import episodes

    began = time.monotonic()
    training = episodes(config, config.plans, 'training')
    validation = episodes(config, config.validation, 'validation')
    print(
        f'{len(training)} runs through plans to train on, {len(validation)} to validate on, '
        f'{time.monotonic() - began:.0f} s'
    )
    return training, validation


def _train(run: Any, config: Any, out: Path, write: Any) -> None:
    """Train, writing the best model and the curves at every check."""
    from delama_ros.training.curves import plot_curves
    from delama_ros.training.loop import Loop

    began = time.monotonic()
    loop = Loop(
        run.model, run.stages(), seed=config.seed, identity=asdict(config),
        state=out.with_suffix('.state'), log=out.with_suffix('.jsonl'),
    )

    def keep(loop: Loop) -> None:
        write(loop.best, {
            'command': shlex.join(['delama', *sys.argv[1:]]), 'config': asdict(config),
            'curve': loop.progress.curve,
        })
        plot_curves({out.stem: loop.progress.curve}, out.with_suffix('.png'))

    loop.run(keep)
    print(f'{out}: {out.stat().st_size / 1000:.0f} kB after {time.monotonic() - began:.0f} s')

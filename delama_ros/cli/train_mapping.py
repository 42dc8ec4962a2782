"""`delama train mapping` and `train decoder`: the shared mapping model, and its decoder."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from delama_ros.cli.task_parsers import add_settings_arguments
from delama_ros.errors import UserError


def add_mapping_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `train mapping` and `train decoder`."""
    mapping = subparsers.add_parser(
        'mapping',
        help='the mapping model that all robots of a swarm share',
        description='Meta-train the mapping model. The checkpoint always holds the model with the '
        'best validation score.',
        epilog='examples:\n'
        '  delama train mapping\n'
        '  delama train mapping --features 16 --out small.npz\n'
        '  delama train mapping --plans maps/ --validation generated:5000-5024\n'
        '  delama train mapping --plans --logs office.bag corridor/\n'
        '  delama train mapping --set head_iterations=200 --out mapping.npz',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    mapping.add_argument(
        '--kind', choices=['tiles', 'plane'],
        help='plane: position features in one square of 24 m, for comparison; performs worse',
    )
    mapping.add_argument('--features', type=int, metavar='K', help='number of features per tile')
    mapping.add_argument(
        '--logs', metavar='FILE', nargs='+',
        help='recordings to train on as well (bags, CARMEN logs)',
    )
    mapping.set_defaults(run=run_mapping)
    decoder = subparsers.add_parser(
        'decoder',
        help='the decoder that predicts unobserved space in maps',
        description='Train the decoder, which predicts the unobserved parts of a partly explored '
        'building. It only works with the mapping model it was trained for.',
        epilog='examples:\n'
        '  delama train decoder\n'
        '  delama train decoder --checkpoint mapping.npz --plans maps/ generated:1000-1200',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    decoder.add_argument(
        '--checkpoint', metavar='FILE', help='mapping checkpoint (default: packaged)'
    )
    decoder.set_defaults(run=run_decoder)
    for name, parser in (('mapping', mapping), ('decoder', decoder)):
        add_settings_arguments(parser, name)
        parser.add_argument(
            '--plans', metavar='PLANS', nargs='*',
            help='training plans: folders, of which 60 %% are used, or generated:A-B',
        )
        parser.add_argument(
            '--validation', metavar='PLANS', nargs='+',
            help='validation plans: folders, of which another 10 %% are used, or generated:A-B',
        )
        parser.add_argument('--seed', type=int, help='random seed')
        parser.add_argument(
            '--out', metavar='FILE', default=f'runs/{name}.npz',
            help='checkpoint (default %(default)s)',
        )


def run_mapping(args: argparse.Namespace) -> int:
    """Train the mapping model and write the checkpoint."""
    out = _prepare(args)
    from delama_ros.experiments.mapping.trainer import Config, MapTraining, log_data
    from delama_ros.mapping.default import SETTINGS
    from delama_ros.training.run import check_state

    try:
        given = ('plans', 'validation', 'kind', 'features', 'seed', 'logs')
        config = _config(args, 'mapping', Config, given)
        check_state(out, asdict(config))  # fail before plans are scanned
        logs = log_data(config)
        training, validation = _episodes(config, logs)
        run = MapTraining(config, SETTINGS, training, validation)
        _train(run, config, out, lambda state, made: run.checkpoint(state, made).save(out))
    except ValueError as error:
        raise UserError(str(error)) from error
    return 0


def run_decoder(args: argparse.Namespace) -> int:
    """Train the decoder and write it."""
    out = _prepare(args)
    from delama_ros.experiments.mapping.decoder_trainer import Config, DecoderTraining
    from delama_ros.mapping.default import find
    from delama_ros.training.run import check_state

    try:
        config = _config(args, 'decoder', Config, ('plans', 'validation', 'seed'))
        checkpoint = find(args.checkpoint)
        check_state(out, asdict(config))
        run = DecoderTraining(config, checkpoint, *_episodes(config))
        _train(run, config, out, lambda state, made: run.decoder(state, made).save(out))
    except ValueError as error:
        raise UserError(str(error)) from error
    return 0


def _prepare(args: argparse.Namespace) -> Path:
    """Return where to write, after checking that training can begin."""
    import torch

    torch.set_num_threads(1)
    out = Path(args.out)
    if out.suffix != '.npz':
        raise UserError(f'--out is {out}, expected a file name that ends in .npz')
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f'cannot write to {out.parent}: {error.strerror}') from error
    return out


def _config(args: argparse.Namespace, task: str, kind: Any, given: tuple[str, ...]) -> Any:
    from delama_ros.training.config import configure, run_settings

    values = run_settings(task, args.config, args.set)
    values |= {name: getattr(args, name) for name in given if getattr(args, name) is not None}
    return configure(kind, values)


def _episodes(config: Any, logs: Any = ()) -> tuple[Any, Any]:
    """Let robots scan the plans to train on, beside logs, and those to validate on."""
    from delama_ros.experiments.mapping.trainer import episodes, specs_of

    specs_of(config.validation, 'validation')  # fail before the others are scanned
    if not specs_of(config.plans, 'training') and not logs:
        raise UserError('--plans names no plan to train on, and --logs no recording')
    began = time.monotonic()
    training = [*episodes(config, config.plans, 'training'), *logs]
    validation = episodes(config, config.validation, 'validation')
    print(
        f'{len(training)} training runs, {len(validation)} validation runs, '
        f'{time.monotonic() - began:.0f} s'
    )
    return training, validation


def _train(run: Any, config: Any, out: Path, write: Any) -> None:
    """Train, writing the best model and the curves at every check."""
    from delama_ros.training.run import train

    began = time.monotonic()
    made = {'command': shlex.join(['delama', *sys.argv[1:]]), 'config': asdict(config)}
    train(
        run.model, run.stages(), out, seed=config.seed, identity=asdict(config), made=made,
        write=write,
    )
    print(f'{out}: {out.stat().st_size / 1000:.0f} kB after {time.monotonic() - began:.0f} s')

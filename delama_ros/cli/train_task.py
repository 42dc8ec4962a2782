"""`delama train regression|mnist|cifar10`: the experiments of the paper, all methods and seeds."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from delama_ros.cli.errors import UserError

TASKS = {
    'regression': 'learn hidden functions from samples of unequal quality (section 6.1)',
    'mnist': 'learn digits class by class, in two groups (section 6.2)',
    'cifar10': 'learn kinds of pictures class by class, in two groups (section 6.2)',
}


def add_task_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `train regression`, `train mnist` and `train cifar10`."""
    for name, summary in TASKS.items():
        parser = subparsers.add_parser(
            name,
            help=summary,
            description='Train a start without collaboration, then each method from it. Each seed '
            'gets a folder with a checkpoint and a log per method and the curves. Several '
            'processes: torchrun --nproc-per-node 2 -m delama_ros.cli.main train ...',
            epilog='examples:\n'
            f'  delama train {name} --seeds 0 1 2 --out runs/{name}\n'
            f'  delama train {name} --set epochs=2 --set "methods=[delama]" --out runs/quick',
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument(
            '--config', metavar='FILE',
            help=f'YAML file with settings (default: config/train_{name}.yaml of the package)',
        )
        parser.add_argument(
            '--set', metavar='NAME=VALUE', action='append', default=[],
            help='replace a setting of the file; may be repeated',
        )
        parser.add_argument('--seeds', type=int, nargs='+', default=[0], help='default 0')
        if name != 'regression':
            add_data_argument(parser, name)
        parser.add_argument(
            '--out', metavar='FOLDER', default=f'runs/{name}', help='default %(default)s'
        )
        parser.set_defaults(run=run, task=name, data=None)


def add_data_argument(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the argument that says where images are."""
    drawn = ', or "generated" for drawn digits' if name == 'mnist' else ''
    parser.add_argument(
        '--data', metavar='FOLDER', help=f'images{drawn} (default $DELAMA_DATA/{name})'
    )


def run(args: argparse.Namespace) -> int:
    """Train all seeds."""
    try:
        import torch
    except ImportError:
        raise UserError('training needs torch: pip install "delama_ros[train]"') from None
    from delama_ros.core.checkpoint import CheckpointError
    from delama_ros.tasks.catalogue import KINDS, make_backbone, make_task
    from delama_ros.tasks.experiment import Experiment
    from delama_ros.tasks.schedule import Training
    from delama_ros.training import processes
    from delama_ros.training.config import configure_all

    torch.set_num_threads(1)
    processes.join()
    try:
        values = settings(args.task, args.config, args.set)
        protocol, training = configure_all((KINDS[args.task], Training), values)
        task = make_task(args.task, protocol, args.data)
        made = {
            'command': shlex.join(['delama', *sys.argv[1:]]), 'task': asdict(protocol),
            'data': args.data,
        }
        for seed in args.seeds:
            folder = Path(args.out) / f'seed{seed}'
            if processes.rank() == 0:
                print(f'seed {seed}: {folder}', flush=True)
            backbone = make_backbone(args.task, asdict(training))
            Experiment(task, backbone, training, seed, folder, made, say=_say).run()
    except (ValueError, CheckpointError) as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(f'{error.filename}: {error.strerror}') from error
    finally:
        processes.leave()
    return 0


def settings(task: str, file: str | None, changes: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a file, by default the package's, with changes NAME=VALUE."""
    from delama_ros.resources import resource
    from delama_ros.training.config import read_file

    values = read_file(file or resource(f'config/train_{task}.yaml'))
    for change in changes:
        name, equals, value = change.partition('=')
        if not equals:
            raise ValueError(f'--set is {change!r}, expected NAME=VALUE')
        try:
            values[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ValueError(f'{name} is {value!r}, expected a YAML value') from None
    return values


def _say(text: str) -> None:
    print(text, flush=True)

"""`delama train regression|mnist|cifar10|…`: learning tasks, all variants and seeds."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from delama_ros.cli.task_parsers import add_plugin_argument, add_settings_arguments
from delama_ros.errors import UserError


def add_task_parser(
    subparsers: argparse._SubParsersAction[Any], name: str, summary: str
) -> None:
    """Add `train NAME`."""
    parser = subparsers.add_parser(
        name,
        help=summary,
        description='Train `alone` first, then each variant starting from its backbone. Every seed '
        'gets a folder with training curves and, per variant, a checkpoint and a log. To use '
        'several processes: torchrun --nproc-per-node 2 -m delama_ros.cli.main train ...',
        epilog='examples:\n'
        f'  delama train {name} --seeds 0 1 2 --out runs/{name}\n'
        f'  delama train {name} --set epochs=2 --set "methods=[bayes]" --out runs/quick',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_settings_arguments(parser, name)
    parser.add_argument(
        '--seeds', type=int, nargs='+', default=[0], help='random seeds (default 0)'
    )
    parser.set_defaults(run=run, task=name, data=None)
    if name in ('mnist', 'cifar10'):
        add_data_argument(parser, name)
    add_plugin_argument(parser)
    parser.add_argument(
        '--out', metavar='FOLDER', default=f'runs/{name}',
        help='output folder (default %(default)s)',
    )


def add_data_argument(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the folder of images."""
    drawn = ', or "generated" for synthetic digits' if name == 'mnist' else ''
    parser.add_argument(
        '--data', metavar='FOLDER', help=f'image folder{drawn} (default $DELAMA_DATA/{name})'
    )


def run(args: argparse.Namespace) -> int:
    """Train all seeds."""
    import torch

    from delama_ros.core.checkpoint import CheckpointError
    from delama_ros.experiments.tasks.catalogue import make_backbone, make_task, settings_class
    from delama_ros.experiments.tasks.meta_training import MetaTraining
    from delama_ros.experiments.tasks.schedule import Training
    from delama_ros.training import processes
    from delama_ros.training.config import configure_all, run_settings

    torch.set_num_threads(1)
    processes.join()
    try:
        values = run_settings(args.task, args.config, args.set)
        protocol, training = configure_all((settings_class(args.task), Training), values)
        task = make_task(args.task, asdict(protocol), args.data)
        made = {
            'command': shlex.join(['delama', *sys.argv[1:]]), 'task': asdict(protocol),
            'data': args.data,
        }
        for seed in args.seeds:
            folder = Path(args.out) / f'seed{seed}'
            if processes.rank() == 0:
                print(f'seed {seed}: {folder}', flush=True)
            backbone = make_backbone(args.task, asdict(training))
            MetaTraining(task, backbone, training, seed, folder, made, report=_report).run()
    except (ValueError, CheckpointError) as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(f'{error.filename}: {error.strerror}') from error
    finally:
        processes.leave()
    return 0


def _report(text: str) -> None:
    print(text, flush=True)

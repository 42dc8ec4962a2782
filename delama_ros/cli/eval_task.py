"""`delama eval regression|mnist|cifar10|…`: learning tasks, all methods on the same sequences."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delama_ros.cli.evaluation import add_common_arguments, make_runner, require_positive, show
from delama_ros.cli.options import add_renamed
from delama_ros.cli.task_parsers import add_plugin_argument
from delama_ros.cli.train_task import add_data_argument
from delama_ros.errors import UserError

if TYPE_CHECKING:
    from delama_ros.experiments.tasks.evaluate import Evaluation, Sizes
    from delama_ros.experiments.tasks.trained import TrainedRun

# Tested sequences per seed, rounds, gradients per round, validation sequences, and steps of the
# latter that networks from scratch are tuned on (0: all), with comparison methods.
QUICK = {'mnist': (2, 2, 2, 1, 2), 'cifar10': (1, 1, 1, 1, 1)}
FULL = {'mnist': (10, 100, 5, 2, 2), 'cifar10': (10, 100, 5, 2, 2)}
QUICK_ELSE, FULL_ELSE = (10, 6, 5, 4, 0), (20, 100, 5, 5, 0)
TRAINED = 200  # sequences per seed, if only trained variants are tested


def add_task_parser(
    subparsers: argparse._SubParsersAction[Any], name: str, summary: str
) -> None:
    """Add `eval NAME`."""
    parser = subparsers.add_parser(
        name,
        help=summary,
        description='Test methods on the same sequences, which neither training nor validation has '
        'used. Trained variants: paper, row, bayes, oracle (known graph), alone, last_step. '
        'Gradient methods and graph learners choose their settings on validation sequences by a '
        'small grid search. Gradient methods have two set-ups: plain trains a randomly initialised '
        'network on the data of each step; strong trains a head on the meta-trained features, on '
        'all data the agent has seen so far.',
        epilog='examples:\n'
        f'  delama eval {name} --json {name}.json --plot runs/figures\n'
        f'  delama eval {name} --run runs/{name} --links er:0.3\n'
        f'  delama eval {name} --methods bayes oracle --rounds 10\n'
        f'  delama eval {name} --methods all --quick\n'
        f'  delama eval {name} --methods fedavg ditto bayes --setups plain\n'
        f'  delama eval {name} --plugin examples/own_method.py:Gossip --methods gossip bayes\n'
        'on two cores, all methods with all rounds and one seed take a quarter of an hour for\n'
        'regression, about 2.5 hours for mnist and 5 hours for cifar10 (--setups strong: 6 and\n'
        '10 minutes); --quick takes 1 to 4 minutes',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_renamed(
        parser, '--run', '--model', metavar='FOLDER', dest='folder',
        help='output folder of `delama train` (default: packaged)',
    )
    parser.add_argument(
        '--methods', nargs='+', metavar='NAME',
        help="methods to run (default: the trained variants); all: those of the paper's tables",
    )
    parser.add_argument(
        '--setups', nargs='+', choices=('plain', 'strong'), default=['plain', 'strong'],
        help='set-ups of gradient methods (default both)',
    )
    parser.add_argument(
        '--seeds', nargs='+', type=int,
        help='random seeds (default: those of the run, or 0 with comparison methods)',
    )
    parser.add_argument(
        '--sequences', type=int,
        help=f'test sequences per seed (default {TRAINED}, or 10 to 20 with comparison methods)',
    )
    parser.add_argument(
        '--error-over', choices=('seeds', 'sequences'), default='seeds',
        help='what standard errors are computed over, with several seeds (default seeds)',
    )
    add_renamed(
        parser, '--links', '--graph', dest='graph',
        help='communication graph: full, er:0.3, ba:0.5 or a file',
    )
    parser.add_argument(
        '--rounds', type=int,
        help='communication rounds per step (default: as trained, or 100 for comparison methods)',
    )
    parser.add_argument(
        '--validation', type=int,
        help='number of validation sequences, on which settings are chosen',
    )
    parser.add_argument('--quick', action='store_true', help='rough figures in a few minutes')
    parser.add_argument(
        '--full-networks', action='store_true',
        help='for images, plain networks as large as the trained backbone; by default they are '
        'half as wide, and for cifar10 the first stride is 2, which takes half (mnist) or a ninth '
        '(cifar10) of the time',
    )
    parser.set_defaults(run=run, task=name, data=None)
    if name in ('mnist', 'cifar10'):
        add_data_argument(parser, name)
    add_plugin_argument(parser)
    add_renamed(
        parser, '--plot', '--plots', metavar='FOLDER', dest='plots',
        help='draw examples and inferred graphs',
    )
    add_common_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, print and write."""
    import torch

    from delama_ros.core.checkpoint import CheckpointError
    from delama_ros.experiments.report import Report
    from delama_ros.experiments.tasks.catalogue import make_task
    from delama_ros.experiments.tasks.evaluate import describe

    torch.set_num_threads(1)
    require_positive(args, 'rounds', 'sequences', 'validation')
    runner = make_runner(args)
    try:
        trained = _trained_run(args)
        methods = _methods(args, trained)
        evaluation, seeds = _evaluation(args, methods, trained)
        task = make_task(args.task, evaluation.settings, evaluation.data)
        rows = evaluation.rows(methods, args.setups, seeds, runner, args.error_over)
    except (ValueError, CheckpointError) as error:
        raise UserError(str(error)) from error
    count = evaluation.sizes.sequences
    over = f'{len(seeds)} seeds' if len(seeds) > 1 else f'{count} sequences'
    if args.error_over == 'sequences':
        over = f'{len(seeds) * count} sequences'
    report = Report(args.task, task.metric, rows, describe(evaluation, seeds), over)
    graph = evaluation.settings.get('graph', 'of the task')
    show(report, args, f'{count} test sequences per seed, graph {graph}; kB per agent and step')
    if args.plots and trained is not None:
        from delama_ros.experiments.tasks.plots import draw_all

        for path in draw_all(trained, task, Path(args.plots)):
            print(path)
    return 0


def _trained_run(args: argparse.Namespace) -> TrainedRun | None:
    """Return the trained run, or None if there is none and no method needs it."""
    from delama_ros.experiments.baselines.registry import entries
    from delama_ros.experiments.tasks.trained import TrainedRun, default_folder

    folder = Path(args.folder) if args.folder else default_folder(args.task)
    needed = args.methods is None or 'strong' in args.setups or not set(args.methods) <= set(
        entries()
    )
    if not needed and not folder.is_dir():
        return None
    return TrainedRun(args.task, folder)


def _methods(args: argparse.Namespace, trained: TrainedRun | None) -> list[str]:
    from delama_ros.experiments.tasks.evaluate import methods_of
    from delama_ros.experiments.tasks.variants import VARIANTS

    if args.methods is None:
        return trained.variants() if trained else []
    known = [*methods_of(args.task), 'dinno']
    every = args.methods == ['all']
    methods = methods_of(args.task) if every else list(dict.fromkeys(args.methods))
    for name in methods:
        if name not in known:
            raise UserError(
                f'unknown method {name!r} for {args.task}; choose from all, '
                + ', '.join(known)
            )
    absent = [name for name in methods if trained and name in VARIANTS and not trained.has(name)]
    if absent and trained:
        text = f'{trained.folder} has no trained learner for {", ".join(absent)}'
        if not every:
            raise UserError(f'{text}: train it or remove it from --methods')
        print(f'{text}: skipped', file=sys.stderr)
    return [name for name in methods if name not in absent]


def _evaluation(
    args: argparse.Namespace, methods: list[str], trained: TrainedRun | None
) -> tuple[Evaluation, list[int]]:
    """Return what to evaluate, on which seeds."""
    from dataclasses import asdict

    from delama_ros.experiments.tasks.catalogue import settings_class
    from delama_ros.experiments.tasks.evaluate import Evaluation
    from delama_ros.experiments.tasks.schedule import Training
    from delama_ros.experiments.tasks.variants import VARIANTS
    from delama_ros.training.config import configure_all, task_settings

    compared = not set(methods) <= set(VARIANTS)
    if trained is not None:
        settings, training = trained.made['task'], trained.made['training']
        data = trained.made['data'] if args.data is None else args.data
    else:
        protocol, schedule = configure_all(
            (settings_class(args.task), Training), task_settings(args.task)
        )
        settings, training, data = asdict(protocol), asdict(schedule), args.data
    if args.graph is not None:
        settings = {**settings, 'graph': args.graph}
    seeds = args.seeds or (trained.seeds if trained and not compared else [0])
    evaluation = Evaluation(
        args.task, settings, training, data, trained, args.rounds, _sizes(args, compared)
    )
    return evaluation, list(dict.fromkeys(seeds))


def _sizes(args: argparse.Namespace, compared: bool) -> Sizes:
    from delama_ros.experiments.tasks.evaluate import Sizes

    chosen = QUICK.get(args.task, QUICK_ELSE) if args.quick else FULL.get(args.task, FULL_ELSE)
    sequences, rounds, local, validation, horizon = chosen
    return Sizes(
        args.sequences or (sequences if compared else TRAINED), args.rounds or rounds, local,
        args.validation or validation, horizon, args.full_networks,
    )

"""`delama eval rendezvous`: how often robots find the transform between their frames."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from delama_ros.cli.evaluation import add_plans_and_seeds, plans_of, require_positive
from delama_ros.cli.options import add_renamed
from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json

EXAMPLES = """examples:
  delama eval rendezvous --plans generated:9000-9010
  delama eval rendezvous --plans maps/ --limit 20 --different 2000 --json rendezvous.json
  delama eval rendezvous --plans generated:9000-9004 --pose-noise 0.05 --beliefs
  delama eval rendezvous --plans rooms:3:furnished --different 0 --beliefs"""


def add_rendezvous_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval rendezvous`."""
    parser = subparsers.add_parser(
        'rendezvous',
        help="estimate transforms between robots' frames from exchanged models",
        description='Five robots map each plan, each in its own frame. Pairs of robots estimate '
        'the transform between their frames from the models they exchange. So do pairs in '
        'different plans, where any transform found is false. The table shows how often the '
        'correct transform is found, by the share of the smaller map that both maps cover. For a '
        'folder, only the 30 % of plans held out from training are used.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_plans_and_seeds(parser)
    parser.add_argument(
        '--steps', type=int, nargs='+', default=[2, 4, 12], metavar='T',
        help='steps after which pairs are tried (default 2 4 12)',
    )
    parser.add_argument(
        '--pairs', type=int, default=4, metavar='N',
        help='pairs of robots per run and step (default %(default)s)',
    )
    parser.add_argument(
        '--different', type=int, default=200, metavar='N',
        help='pairs of robots in different plans (default %(default)s)',
    )
    add_renamed(
        parser, '--pose-noise', '--noise', type=float, default=0.0, metavar='M',
        help='standard deviation of positions, m (default 0); heading noise scales with it',
    )
    parser.add_argument(
        '--beliefs', action='store_true',
        help='also track the estimates of three pairs per run from step to step',
    )
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, print and write."""
    from delama_ros.experiments.rendezvous.episodes import STEPS, run_models
    from delama_ros.experiments.rendezvous.follow import evaluate_beliefs
    from delama_ros.experiments.rendezvous.study import evaluate_rendezvous

    require_positive(args, 'limit', 'pairs')
    for option, value in (('different', args.different), ('pose-noise', args.pose_noise)):
        if not 0 <= value < float('inf'):
            raise UserError(f'--{option} is {value}, expected 0 or more')
    try:
        specs = plans_of(args, test_only=True)
        figures = evaluate_rendezvous(
            specs, args.seeds, steps=args.steps, pairs=args.pairs, different=args.different,
            noise=args.pose_noise, report=_report,
        )
        if args.beliefs:
            runs = [
                lambda spec=spec, seed=seed: run_models(spec, seed, noise=args.pose_noise)
                for spec in specs for seed in args.seeds
            ]
            figures['beliefs'] = {'steps': STEPS, **evaluate_beliefs(runs, report=_report)}
    except ValueError as error:
        raise UserError(str(error)) from error
    show(figures)
    if args.json:
        write_json(args.json, {'task': 'rendezvous', 'plans': len(specs), **figures})
    return 0


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def show(figures: dict[str, Any]) -> None:
    """Print how many transforms were found and how many are false, with errors and times."""
    from delama_ros.rendezvous.outcome import Rule

    rows = [
        [
            f'{100 * row["from"]:.0f} to {100 * row["to"]:.0f} %', str(row['pairs']),
            str(row['found']), '–' if row['rate'] is None else f'{100 * row["rate"]:.0f} %',
        ]
        for row in figures['found']['smaller']['all'][2:]  # the first two sum up the others
    ]
    print_table(['overlap', 'pairs', 'found', 'rate'], rows)
    other = figures['different']
    print(
        f'false transforms: {figures["false"]} of {figures["attempts"]} pairs in the same plan, '
        f'{other["false"]} of {other["attempts"]} pairs in different plans'
    )
    if leads := other['highest_leads_m']:
        print(f'largest lead in different plans: {leads[0]:g} m, {Rule().lead:g} m is accepted')
    for key, text, unit in (
        ('error_cm', 'position error where the maps match', 'cm'),
        ('error_deg', 'heading error', '°'),
        ('seconds', 'CPU time per attempt', 's'),
    ):
        if values := figures[key]:
            print(
                f'{text}: median {values["median"]:g} {unit}, 95 % within {values["p95"]:g} '
                f'{unit}, worst {values["worst"]:g} {unit}'
            )
    if beliefs := figures.get('beliefs'):
        joined = ', '.join(
            f'{count} after {step}'
            for step, count in zip(beliefs['steps'], beliefs['joined'], strict=True)
        )
        print(
            f'{beliefs["pairs"]} pairs followed: correct joins: {joined} steps; '
            f'false joins: {beliefs["false"]}'
        )

"""What all `delama eval` commands share: options, the runner, and how figures are shown."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json

if TYPE_CHECKING:
    from delama_ros.experiments.report import Report
    from delama_ros.experiments.runner import Runner

PLANS = 'generated:9000-9010'


def add_common_arguments(
    parser: argparse.ArgumentParser, *, out: str | None = 'runs/eval',
    out_help: str = 'folder of tables, CSV, pictures and stored cells (default %(default)s)',
) -> None:
    """Add --jobs, --out and --json."""
    parser.add_argument(
        '--jobs', type=int, default=1, help='number of processes (default %(default)s)'
    )
    parser.add_argument('--out', metavar='DIR', default=out, help=out_help)
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose plans and robots."""
    add_plans(parser)
    parser.add_argument('--robots', type=int, default=5, help='number of robots (default 5)')
    parser.add_argument('--steps', type=int, default=12, help='number of time steps (default 12)')


def add_plans(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose plans."""
    parser.add_argument(
        '--plans', default=PLANS,
        help='folder, generated:A-B or rooms:N (default %(default)s)',
    )
    parser.add_argument('--limit', type=int, help='use at most this many plans')


def add_plans_and_seeds(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose plans and the runs on each."""
    add_plans(parser)
    parser.add_argument(
        '--seeds', type=int, nargs='+', default=[0],
        help='random seeds, one run per plan and seed (default 0)',
    )


def require_positive(args: argparse.Namespace, *names: str) -> None:
    """Reject options that are below 1; those not given are skipped."""
    for name in names:
        value = getattr(args, name)
        if value is not None and not value >= 1:
            raise UserError(f'--{name.replace("_", "-")} is {value}, expected at least 1')


def plans_of(args: argparse.Namespace, *, test_only: bool) -> list[str]:
    """Return the requested plans; test_only: of a folder, those held out from training."""
    from delama_ros.experiments.mapping.dataset import plan_specs, split

    specs = plan_specs(args.plans)
    if test_only and not args.plans.startswith(('generated:', 'rooms:')):
        specs = split(specs).test
    if not specs:
        raise UserError(f'--plans {args.plans} contains no test plans')
    return specs[: args.limit]


def make_runner(args: argparse.Namespace) -> Runner:
    """Return the runner that keeps its cells in --out."""
    from delama_ros.experiments.runner import Runner

    require_positive(args, 'jobs')
    try:
        return Runner(Path(args.out), args.jobs)
    except OSError as error:
        raise UserError(f'cannot write to {args.out}: {error.strerror}') from error


def show(report: Report, args: argparse.Namespace, note: str) -> None:
    """Print the tables, and write them, the figures and the JSON."""
    from delama_ros.experiments import report as reports

    for number, (title, header, lines) in enumerate(reports.tables(report)):
        print(f'\n{title}' if number else title)
        print_table(header, lines)
    for line in (*reports.ratios(report), *reports.margins(report)):
        print(line)
    print(f'± standard error over {report.over}; {note}')
    reports.write(report, Path(args.out))
    if args.json:
        write_json(args.json, report.as_json())

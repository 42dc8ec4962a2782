"""`delama swarm`: run a described swarm, show its steps, keep its results."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from delama_ros.cli.errors import UserError
from delama_ros.cli.interrupts import interrupts
from delama_ros.cli.output import format_table, write_json
from delama_ros.resources import resource
from delama_ros.swarm.description import DescriptionError, Swarm, read
from delama_sim.errors import PlanError
from delama_sim.map_file import write_map
from delama_sim.plans import load

if TYPE_CHECKING:
    from delama_ros.swarm.record import Record

EXAMPLES = """examples:
  delama swarm                                     five robots, a generated flat, 12 steps
  delama swarm --robots 3 --steps 6 --seed 9       another flat, fewer robots
  delama swarm --plan path/to/map.yaml             a nav2 map
  delama swarm --config my_swarm.yaml --json figures.json
  delama swarm --view                              watch it in a browser
  delama swarm --transport local                   without ROS, in one process"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `swarm` subcommand."""
    parser = subparsers.add_parser(
        'swarm',
        help='simulate a swarm of robots that map a building together',
        description='Start a simulator and one process per robot over ROS 2, on this machine and '
        'in a ROS domain of their own (unless ROS_DOMAIN_ID is set). Prints F1 per robot and step '
        'and writes table, picture, parameters and logs to a folder of the run.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--config', metavar='FILE', help='swarm description (config/swarm.yaml)')
    parser.add_argument('--robots', type=int, metavar='N', help='number of robots')
    parser.add_argument('--plan', help='generated:SEED, a model.svg or a map.yaml')
    parser.add_argument('--seed', type=int, help='of plan and simulation (plan: generated:SEED)')
    parser.add_argument('--steps', type=int, help='time steps')
    parser.add_argument('--period', type=float, help='s of simulated time between steps')
    parser.add_argument(
        '--transport',
        choices=('ros', 'local'),
        default='ros',
        help='ros: a process per robot over DDS; local: one process, the same numbers',
    )
    add_output_arguments(parser)
    parser.set_defaults(run=run)


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add where the results of a run go."""
    parser.add_argument('--out', metavar='DIR', help='folder of the run (default runs/<time>)')
    parser.add_argument('--view', action='store_true', help='show the run in a browser')
    parser.add_argument('--bag', action='store_true', help='record a rosbag2 in the folder')
    parser.add_argument('--json', metavar='FILE', help='write methods → delama → metric → list')


def describe(args: argparse.Namespace) -> Swarm:
    """Read the description and let the arguments win over it."""
    keys = ('robots', 'plan', 'seed', 'steps', 'period')
    overrides = {key: getattr(args, key) for key in keys if getattr(args, key) is not None}
    if 'seed' in overrides and 'plan' not in overrides and args.config is None:
        overrides['plan'] = f'generated:{args.seed}'
    try:
        swarm = read(args.config or resource('config/swarm.yaml'), overrides)
        if ',' in swarm.plan:
            raise UserError(f'plan is {swarm.plan}, expected one: maps are scored in one building')
        if swarm.plan:
            load(swarm.plan)
        elif args.transport == 'local':
            raise UserError('--transport local simulates, for which the description has no plan')
    except (DescriptionError, PlanError) as error:
        raise UserError(str(error)) from error
    return swarm


def run(args: argparse.Namespace) -> int:
    """Run the swarm and write what it gave."""
    return run_described(args, describe(args))


def run_described(args: argparse.Namespace, swarm: Swarm) -> int:
    """Run a swarm, show its steps and write what it gave."""
    # Here, not above: `delama swarm --help` and wrong arguments should not wait for this, or ROS.
    from delama_ros.swarm.record import Record

    folder = Path(args.out or Path('runs') / datetime.now().strftime('%Y-%m-%d_%H-%M-%S'))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f'cannot write to {folder}: {error.strerror}') from error
    (folder / 'swarm.yaml').write_text(swarm.to_yaml())
    record = Record(swarm.robots, swarm.steps)
    source = f'plan {swarm.plan}' if swarm.plan else ', '.join(dict.fromkeys(swarm.logs)) or 'real'
    steps = f'{swarm.steps} steps' if swarm.steps else 'until Ctrl-C'
    print(f'{len(swarm.robots)} robots, {source}, {steps}; F1 in per cent')
    began = time.monotonic()
    with interrupts() as asked, page(args, folder) as address:
        try:
            start(args, swarm, folder, record, asked)
        finally:
            write_results(record, folder, args.json)
        memory = f', {record.memory / 1e9:.1f} GB' if record.memory else ''
        seconds = f'{time.monotonic() - began:.0f} s'
        print(f'done in {seconds}{memory}; maps: {folder / "maps.png"}', flush=True)
        if address:
            print(f'the run can still be seen at {address} until Ctrl-C', flush=True)
            asked.wait()
    return 0


@contextmanager
def page(args: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Serve the run's page as long as this lasts, if that was asked for; gives its address."""
    if not args.view or args.transport == 'local':
        yield ''
        return
    try:
        from delama_ros.swarm.shown import shown
    except ImportError as error:
        raise UserError(f'--view needs `pip install delama_ros[web]`: {error}') from error

    with shown(folder) as address:
        print(f'watch it at {address}', flush=True)
        yield address


def start(
    args: argparse.Namespace, swarm: Swarm, folder: Path, record: Record, asked: Event
) -> None:
    """Run all steps over ROS 2 or in this process; KeyboardInterrupt once that is asked for."""

    def go_on() -> None:
        if asked.is_set():
            raise KeyboardInterrupt

    def on_step(record: Record, step: int) -> None:
        show_step(record, step)
        go_on()

    if args.transport == 'local':
        for option, use in (('bag', 'records'), ('view', 'shows')):
            if getattr(args, option):
                raise UserError(f'--{option} {use} ROS topics, which --transport local has not')
        from delama_ros.swarm.local import run_local

        try:
            run_local(swarm, on_step, record)
        except (ValueError, OSError) as error:
            raise UserError(str(error)) from error
        return
    from delama_ros.swarm.run import RunError, run_swarm

    try:
        run_swarm(swarm, folder, on_step, record, bag=args.bag, go_on=go_on)
    except RunError as error:
        raise UserError(f'{error}\nlogs are in {folder / "log"}') from error


def show_step(record: Record, step: int) -> None:
    """Print a line of the table, below its header if it is the first."""
    # Laid out as if the widest row were there, so that lines printed one by one stay aligned.
    widest = [max(cell, '100.0', key=len) for cell in record.header()]
    lines = format_table(record.header(), [record.row(step), widest]).splitlines()
    print('\n'.join(lines[:3] if step == 1 else lines[2:3]), flush=True)


def write_results(record: Record, folder: Path, json_file: str | None) -> None:
    """Write table, figures and picture, of however much there is."""
    if record.bytes or record.f1:
        (folder / 'table.txt').write_text(record.table() + '\n')
    record.picture(folder / 'maps.png')
    (folder / 'maps').mkdir(exist_ok=True)
    for robot, occupancy in record.maps.items():
        write_map(occupancy, folder / 'maps' / f'{robot}.yaml', mode='raw')
    write_json(folder / 'figures.json', record.figures())
    if json_file:
        write_json(json_file, record.figures())

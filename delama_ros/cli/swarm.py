"""`delama swarm`: run a swarm, print its steps, write its results."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from delama_ros.cli.interrupts import interrupts
from delama_ros.errors import UserError
from delama_ros.geometry.errors import PlanError
from delama_ros.geometry.map_file import write_map
from delama_ros.output import format_table, write_json
from delama_ros.resources import resource
from delama_ros.swarm.description import STARTS, DescriptionError, Swarm, read
from delama_sim.plans import load

SILENT = 1e-3  # m, range of a radio that nobody receives

if TYPE_CHECKING:
    from delama_ros.swarm.film import Film
    from delama_ros.swarm.record import Record

EXAMPLES = """examples:
  delama swarm                                     five robots, a generated flat, 12 steps
  delama swarm --robots 3 --steps 6 --seed 9       fewer robots in another flat
  delama swarm --plan path/to/map.yaml             a nav2 map
  delama swarm --config my_swarm.yaml --json figures.json
  delama swarm --view                              watch it in a browser
  delama swarm --starts unknown --steps 20         robots have to find each other's frames
  delama swarm --transport local                   without ROS, in one process
  delama swarm --transport local --starts unknown --steps 14 --gif swarm.gif"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `swarm` subcommand."""
    parser = subparsers.add_parser(
        'swarm',
        help='simulate a swarm of robots that map a building together',
        description='Start a simulator and one process per robot over ROS 2, on this machine and '
        'in a separate ROS domain (unless ROS_DOMAIN_ID is set). Print the F1 score of every robot '
        'at every step, and write table, picture, parameters and logs to a folder.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--config', metavar='FILE', help='swarm description (config/swarm.yaml)')
    parser.add_argument('--robots', type=int, metavar='N', help='number of robots')
    parser.add_argument('--plan', help='generated:SEED, rooms:N, a model.svg or a map.yaml')
    parser.add_argument(
        '--seed', type=int, help='random seed of the simulation and, by default, of the plan'
    )
    parser.add_argument('--steps', type=int, help='number of time steps')
    parser.add_argument(
        '--localization',
        choices=('slam', 'tf', 'odometry'),
        help='slam: scans and odometry (default); tf: true poses; odometry: odometry alone',
    )
    parser.add_argument(
        '--odometry',
        choices=('exact', 'good', 'turtlebot', 'pioneer', 'bad'),
        help='odometry errors (default turtlebot)',
    )
    parser.add_argument(
        '--starts',
        choices=STARTS,
        help='what robots know of their starting poses: exact (default), rough, or unknown: each '
        'robot maps in its own frame until robots find each other',
    )
    parser.add_argument('--period', type=float, help='simulated seconds between time steps')
    parser.add_argument(
        '--transport',
        choices=('ros', 'local'),
        default='ros',
        help='ros: one process per robot over DDS (default); local: a single process without ROS, '
        'with the same results',
    )
    parser.add_argument(
        '--gif', metavar='FILE',
        help='write an animation of the maps, beside that of a robot alone; needs --transport local'
    )
    add_output_arguments(parser)
    parser.set_defaults(run=run)


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say where results go."""
    parser.add_argument('--out', metavar='DIR', help='folder of the run (default runs/<time>)')
    parser.add_argument('--view', action='store_true', help='show the run in a browser')
    parser.add_argument(
        '--bag', action='store_true', help='record a rosbag2 in the folder of the run'
    )
    parser.add_argument('--json', metavar='FILE', help='write all figures to FILE')


def describe(args: argparse.Namespace) -> Swarm:
    """Read the description and apply the arguments to it."""
    keys = ('robots', 'plan', 'seed', 'steps', 'period', 'localization', 'starts')
    changes = {key: getattr(args, key) for key in keys if getattr(args, key) is not None}
    if 'seed' in changes and 'plan' not in changes and args.config is None:
        changes['plan'] = f'generated:{args.seed}'
    try:
        swarm = read(args.config or resource('config/swarm.yaml'), changes)
        if args.odometry:
            simulator = {**swarm.simulator, 'odometry_preset': args.odometry}
            swarm = replace(swarm, simulator=simulator)
        if ',' in swarm.plan:
            raise UserError(f'plan is {swarm.plan}, expected one: maps are scored in one building')
        if swarm.plan:
            load(swarm.plan)
        elif args.transport == 'local':
            raise UserError('--transport local needs a plan, but the description has none')
    except (DescriptionError, PlanError) as error:
        raise UserError(str(error)) from error
    return swarm


def run(args: argparse.Namespace) -> int:
    """Run the swarm and write its results."""
    return run_described(args, describe(args))


def run_described(args: argparse.Namespace, swarm: Swarm) -> int:
    """Run a swarm, print its steps and write its results."""
    # Imported here so that `delama swarm --help` and wrong arguments do not wait for ROS.
    from delama_ros.mapping.default import find
    from delama_ros.swarm.record import Record

    try:
        for checkpoint in {swarm.robot_parameters(n).get('checkpoint') for n in swarm.robots}:
            find(checkpoint or None)
    except ValueError as error:
        raise UserError(str(error)) from error
    folder = Path(args.out or Path('runs') / datetime.now().strftime('%Y-%m-%d_%H-%M-%S'))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f'cannot write to {folder}: {error.strerror}') from error
    (folder / 'swarm.yaml').write_text(swarm.to_yaml())
    record = Record(swarm.robots, swarm.steps, free=swarm.free)
    source = f'plan {swarm.plan}' if swarm.plan else ', '.join(dict.fromkeys(swarm.logs)) or 'real'
    steps = f'{swarm.steps} steps' if swarm.steps else 'until Ctrl-C'
    print(f'{len(swarm.robots)} robots, {source}, {steps}; F1 in per cent')
    began = time.monotonic()
    with interrupts() as interrupted, page(args, folder) as address:
        try:
            start(args, swarm, folder, record, interrupted)
        finally:
            write_results(record, folder, args.json)
        memory = f', {record.memory / 1e9:.1f} GB' if record.memory else ''
        seconds = f'{time.monotonic() - began:.0f} s'
        print(f'done in {seconds}{memory}; maps: {folder / "maps.png"}', flush=True)
        if address:
            print(f'still showing the run at {address} (Ctrl-C to stop)', flush=True)
            interrupted.wait()
    return 0


@contextmanager
def page(args: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Serve the page of the run if --view is given; yields its address, or nothing."""
    if not args.view or args.transport == 'local':
        yield ''
        return
    from delama_ros.swarm.browser import viewer

    with viewer(folder) as address:
        print(f'watch it at {address}', flush=True)
        yield address


def start(
    args: argparse.Namespace, swarm: Swarm, folder: Path, record: Record, interrupted: Event
) -> None:
    """Run all steps over ROS 2 or in this process; KeyboardInterrupt on Ctrl-C."""

    def poll() -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt

    def on_step(record: Record, step: int) -> None:
        show_step(record, step)
        poll()

    if args.transport == 'local':
        for option, use in (('bag', 'records'), ('view', 'shows')):
            if getattr(args, option):
                raise UserError(f'--{option} {use} ROS topics; --transport local has none')
        from delama_ros.swarm.film import Film
        from delama_ros.swarm.local import run_local

        film = Film(record) if getattr(args, 'gif', None) else None
        try:
            run_local(swarm, on_step, record, film)
            if film is not None:
                animate(swarm, film, Path(args.gif), poll)
        except (ValueError, OSError) as error:
            raise UserError(str(error)) from error
        return
    if getattr(args, 'gif', None):
        raise UserError('--gif needs --transport local; a recorded run can be saved as a GIF from '
                        'its page, see delama view')
    from delama_ros.swarm.run import RunError, run_swarm

    try:
        run_swarm(swarm, folder, on_step, record, bag=args.bag, poll=poll)
    except RunError as error:
        raise UserError(f'{error}\nlogs are in {folder / "log"}') from error


def animate(swarm: Swarm, film: Film, file: Path, poll: Callable[[], None]) -> None:
    """Repeat a run without messages, and write an animation of both."""
    from delama_ros.swarm.animation import write_gif
    from delama_ros.swarm.film import Film
    from delama_ros.swarm.local import run_local
    from delama_ros.swarm.record import Record

    print('the same robots without messages, for the animation', flush=True)
    silent = replace(swarm, simulator={**swarm.simulator, 'radio_range': SILENT})
    alone = Film(Record(swarm.robots, swarm.steps, free=swarm.free))
    run_local(silent, lambda record, step: poll(), alone.record, alone)
    print(f'animation: {write_gif(film, alone, file)}', flush=True)


def show_step(record: Record, step: int) -> None:
    """Print one row of the table, the first one below the header."""
    # Laid out with the widest possible row, so that rows printed one by one stay aligned.
    widest = [max(cell, '100.0', key=len) for cell in record.header()]
    lines = format_table(record.header(), [record.row(step), widest]).splitlines()
    print('\n'.join(lines[:3] if step == 1 else lines[2:3]), flush=True)
    for join in record.joins:
        if join.step == step:
            print(f'       {join.text}', flush=True)


def write_results(record: Record, folder: Path, json_file: str | None) -> None:
    """Write table, figures and pictures of all steps completed."""
    if record.bytes or record.f1:
        (folder / 'table.txt').write_text(record.table() + '\n')
    record.picture(folder / 'maps.png')
    (folder / 'maps').mkdir(exist_ok=True)
    for robot, occupancy in record.maps.items():
        write_map(occupancy, folder / 'maps' / f'{robot}.yaml', mode='raw')
    write_json(folder / 'figures.json', record.figures())
    if json_file:
        write_json(json_file, record.figures())

"""`delama eval log`: localize a recorded log and map it by fusion, alone and centrally."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from delama_ros.cli.evaluation import add_common_arguments, make_runner, require_positive
from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json

if TYPE_CHECKING:
    from delama_ros.data.log import Log
    from delama_ros.experiments.mapping.log_run import Protocol, Result
    from delama_ros.experiments.mapping.log_slam import Localised
    from delama_ros.geometry.grid import Floats

EXAMPLES = """examples:
  delama eval log intel.log.gz --robots 5 --out runs/intel
  delama eval log my_bag/ --topic /robot1/scan --json figures.json
  delama eval log my_bag/ --localization slam --out runs/bag
  delama eval log intel.clf.gz --localization slam --relations intel.relations.gz --robots 0
  delama eval log intel.log.gz --localization slam --robots 0 --attack drift_turtlebot
  delama eval log intel.clf.gz --localization slam --relations intel.relations.gz --robots 3 \\
      --starts unknown --out runs/intel
  delama eval log exp1.dat.gz exp2.dat.gz --localization slam --starts unknown --out runs/mines"""

MEASURES = {
    'agreement_f1': 'F1',
    'coverage': 'coverage',
    'held_out_f1': 'held-out F1',
    'truth_f1': 'true F1',  # of recordings that hold the true map
}


def add_log_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `eval log`."""
    parser = subparsers.add_parser(
        'log',
        help='localize and map a recorded log or bag as if several robots had driven parts of it',
        description='Split a log in time, one part per robot, and map the same scans in three '
        'ways: each robot alone, all robots by fusion, and one learner that gets every scan. Scans '
        'less than 0.2 m and 0.2 rad apart are skipped; every tenth of the rest is held out from '
        'all learners and used to score their maps. Poses are taken from the log or, with '
        '--localization slam, estimated from scans and raw odometry. With --starts unknown each '
        'robot localizes itself in a frame of its own, and the robots find a common frame from '
        'the models they exchange.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'files', metavar='FILE', nargs='+',
        help='rosbag2 folder or file, ROS 1 .bag, CARMEN .log, .clf, mines rover .dat, .gz; '
        'several, with --starts unknown: one robot each',
    )
    add_bag_arguments(parser)
    parser.add_argument(
        '--localization', choices=('log', 'slam'), default='log',
        help='log: poses as recorded (default); slam: estimated from scans and odometry',
    )
    parser.add_argument(
        '--starts', choices=('exact', 'unknown'), default='exact',
        help='exact: all robots begin in one frame (default); unknown, with --localization slam: '
        'each in its own',
    )
    parser.add_argument(
        '--relations', metavar='FILE',
        help='known relations to score poses with, one "stamp1 stamp2 x y z roll pitch yaw" per '
        'line',
    )
    parser.add_argument(
        '--reference', metavar='FILE',
        help='reference poses, one "stamp x y theta" per line (default: those of the log)',
    )
    parser.add_argument(
        '--trajectory', metavar='FILE', help='write "stamp x y theta" of every scan to FILE'
    )
    parser.add_argument(
        '--robots', type=int, default=5, metavar='N',
        help='number of robots (default 5); 0, with --localization slam: only localize',
    )
    parser.add_argument(
        '--period', type=float, metavar='S',
        help='log seconds per step (default: so that there are 12 steps; with --starts unknown at '
        'least 40, and no more than 6 m of path per step)',
    )
    parser.add_argument(
        '--attack', metavar='NAME',
        help='make the log harder before it is localized: drop (30 %% of the scans), inf (25 %% of '
        'the beams), jump or jump_sideways (odometry, by 0.5 m and 20° every 60 m), stall '
        '(odometry, on 2 m of every 60 m), or drift_PRESET for logs with exact poses; needs '
        '--robots 0',
    )
    parser.add_argument(
        '--seeds', type=int, nargs='+', default=[0], help='of the attack, one run each (default 0)'
    )
    parser.add_argument('--limit', type=int, metavar='SCANS', help='use only the first SCANS scans')
    parser.add_argument(
        '--reach', type=float, default=20.0, metavar='M',
        help='maximum range used, m (default 20)',
    )
    parser.add_argument('--checkpoint', help='mapping checkpoint (default: packaged)')
    add_common_arguments(
        parser, out=None,
        out_help='folder of pictures, nav2 maps and stored cells (default: no pictures and no '
        'maps; cells in runs/eval)',
    )
    parser.set_defaults(run=run)


def add_bag_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose what to read from a bag."""
    parser.add_argument('--topic', help='laser scan topic, if a bag has several')
    parser.add_argument('--frame', help='fixed frame of the poses (default: the root of TF)')
    parser.add_argument(
        '--delay',
        type=float,
        metavar='S',
        help='stamp delay, s (default: estimated by map sharpness)',
    )


def run(args: argparse.Namespace) -> int:
    """Read, localize, map, print, write."""
    from delama_ros.data.log import LogError
    from delama_ros.data.read import read_log
    from delama_ros.experiments.mapping.log_run import Protocol, evaluate

    slam = args.localization == 'slam'
    _check(args, slam)
    if args.starts == 'unknown':
        from delama_ros.cli.eval_log_meeting import run_meeting

        return run_meeting(args)
    (args.file,) = args.files
    pictures = None if args.out is None else Path(args.out)
    args.out = args.out or 'runs/eval'
    figures: dict[str, Any] = {}
    protocol = Protocol(args.robots, args.period, args.limit, args.reach, args.checkpoint, slam)
    try:
        log = read_log(
            args.file, topic=args.topic, frame=args.frame, delay=args.delay, raw=slam
        )
        for note in log.notes:
            print(f'{args.file}: {note}', file=sys.stderr)
        if slam:
            log = replace(log, readings=log.readings[: args.limit])
            if args.attack:
                figures |= _attack(args, log)
            else:
                log = _localise(args, log, protocol, pictures, figures)
        if args.robots:
            result = evaluate(log, protocol)
            figures |= result.figures
            show(result)
            if pictures:
                write(result, pictures)
    except (LogError, ValueError) as error:
        raise UserError(str(error)) from error
    if args.json:
        write_json(args.json, figures)
    return 0


def _check(args: argparse.Namespace, slam: bool) -> None:
    require_positive(args, 'jobs')
    for name in ('limit', 'period', 'reach'):
        value = getattr(args, name)
        if value is not None and not value > 0:
            raise UserError(f'--{name} {value:g}, expected more than 0')
    if args.robots < (0 if slam else 1):
        raise UserError(f'--robots {args.robots}, expected more than 0')
    for name in ('relations', 'reference', 'trajectory'):
        if getattr(args, name) and not slam:
            raise UserError(f'--{name} needs --localization slam')
    if args.attack:
        from delama_ros.experiments.mapping.log_attacks import ATTACKS

        if args.attack not in ATTACKS:
            raise UserError(f'attack is {args.attack!r}, expected one of: {", ".join(ATTACKS)}')
        if not slam or args.robots:
            raise UserError('--attack needs --localization slam and --robots 0')
    unknown = args.starts == 'unknown'
    if unknown and not slam:
        raise UserError('--starts unknown needs --localization slam')
    for name in ('reference', 'trajectory'):
        if getattr(args, name) and unknown:
            raise UserError(f'--{name} is not for --starts unknown')
    if unknown and len(args.files) == 1 and args.robots < 2:
        raise UserError(f'--robots {args.robots}, expected at least 2 with --starts unknown')
    if len(args.files) > 1 and (not unknown or args.relations):
        raise UserError(
            f'{len(args.files)} files, expected one, or --starts unknown without --relations'
        )


def _attack(args: argparse.Namespace, log: Log) -> dict[str, Any]:
    """Localize a log made harder, once per seed; prints and returns the errors."""
    from delama_ros.experiments.mapping import log_slam
    from delama_ros.experiments.mapping.log_attacks import ATTACKS

    relations, reference, source = _yardsticks(args)
    if relations is None and reference is None:
        # Stamps of some logs occur twice; numbers name scans without doubt.
        log = replace(
            log, readings=tuple(replace(r, key=float(k)) for k, r in enumerate(log.readings))
        )
        reference = np.array([(r.key, *r.pose) for r in log.readings])
    runner, runs = make_runner(args), {}
    for seed in args.seeds:
        harder = ATTACKS[args.attack](log, seed)
        found = log_slam.localise(
            harder, source | {'attack': args.attack, 'seed': seed}, runner
        )
        runs[seed] = log_slam.score(found, relations, reference)
        show_localization(f'{log.name}, {args.attack}, seed {seed}', runs[seed])
    key = 'ate_m' if relations is None else 'translation_error_m'
    errors = [figures[key] for figures in runs.values()]
    print(f'{len(errors)} seeds: mean {np.mean(errors):.3f} m, worst {max(errors):.3f} m')
    return {'attack': args.attack, 'runs': runs}


def _yardsticks(args: argparse.Namespace) -> tuple[Floats | None, Floats | None, dict[str, Any]]:
    """Relations and reference poses, if given, and what the log was read from."""
    from delama_ros.experiments.mapping import log_slam

    relations = log_slam.read_numbers(args.relations, 'relations') if args.relations else None
    reference = log_slam.read_numbers(args.reference, 'poses') if args.reference else None
    source = log_slam.source_of(
        args.file, args.limit, topic=args.topic, frame=args.frame, delay=args.delay
    )
    return relations, reference, source



def _localise(
    args: argparse.Namespace, log: Log, protocol: Protocol, pictures: Path | None,
    figures: dict[str, Any],
) -> Log:
    """Localize a log, print and write its errors; returns the log with the estimated poses."""
    from delama_ros.experiments.mapping import log_slam

    # Errors in these files should show before the log is localized.
    relations, reference, source = _yardsticks(args)
    found = log_slam.localise(log, source, make_runner(args))
    figures |= log_slam.score(found, relations, reference)
    show_localization(log.name, figures)
    try:
        if args.trajectory:
            log_slam.write_trajectory(found, Path(args.trajectory))
        if pictures:
            write_before_and_after(found, protocol, pictures)
    except OSError as error:
        raise UserError(f'cannot write {error.filename}: {error.strerror}') from error
    return found.log


def show_localization(name: str, figures: dict[str, Any]) -> None:
    """Print errors, sharpness and time of a localized log."""
    print(f'{name}: {figures["scans"]} scans, {figures["loops"]} loops, {figures["seconds"]:g} s')
    print(
        f'statuses {", ".join(f"{name} {n}" for name, n in figures["statuses"].items())}; range '
        f'bias of the laser {100 * figures["range_bias_m"]:+.1f} cm'
    )
    stages = ', '.join(f'{stage} {ms:.2f}' for stage, ms in figures['median_ms'].items())
    print(f'median ms of CPU time: {stages}')
    if 'relations' in figures:
        print(
            f'relation error {figures["translation_error_m"]:.4f} ± '
            f'{figures["translation_std_m"]:.4f} m, {figures["rotation_error_deg"]:.3f}°, '
            f'{figures["relations"]} of {figures["relations_given"]} relations; odometry '
            f'{figures["odometry_translation_error_m"]:.3f} m'
        )
    else:
        print(
            f'absolute trajectory error {figures["ate_m"]:.3f} m (largest '
            f'{figures["ate_largest_m"]:.3f}) over {figures["ate_poses"]} poses of the '
            f'{figures["ate_against"]}'
        )
    odometry, slam = figures['cells_hit']['odometry'], figures['cells_hit']['slam']
    print(
        f'occupied 5 cm cells: {slam} (recorded poses: {odometry}, '
        f'{100 * (slam / max(odometry, 1) - 1):+.0f} %)'
    )


def write_before_and_after(found: Localised, protocol: Protocol, folder: Path) -> None:
    """Draw the map and the trajectory with recorded and with estimated poses."""
    from delama_ros.experiments.mapping.log_picture import Panel, write_panels
    from delama_ros.experiments.mapping.log_run import map_alone
    from delama_ros.experiments.mapping.log_slam import trajectory_of
    from delama_ros.geometry.map_file import write_map

    logs = {'recorded poses': found.odometry, 'slam': found.log}
    panels = []
    for title, log in logs.items():
        own = replace(protocol, prepared=log is found.log)
        panels.append(Panel(title, map_alone(log.readings, own), [trajectory_of(log.readings)]))
    write_panels(panels, folder / 'localization.png')
    write_map(panels[1].occupancy, folder / 'maps' / 'slam.yaml')
    print(f'{folder / "localization.png"}: map and trajectory, recorded poses and slam')


def show(result: Result) -> None:
    """Print a line per robot, their mean and the learner with all scans."""
    methods = result.figures['methods']
    measures = {key: text for key, text in MEASURES.items() if key in methods['fusion']}
    columns = [methods[name][key] for key in measures for name in ('alone', 'fusion')]
    kind = methods['fusion']['runs_as']  # what robots alone run as, too
    sent = [[step[robot] for step in result.bytes] for robot in result.robots]
    rows = [
        [robot, kind, *(f'{column[i]:.1f}' for column in columns), f'{np.mean(sent[i]):.0f}']
        for i, robot in enumerate(result.robots)
    ]
    rows.append(['mean', kind, *(f'{np.mean(c):.1f}' for c in columns), f'{np.mean(sent):.0f}'])
    best = methods['centralised']
    one = [cell for key in measures for cell in ('', f'{best[key][0]:.1f}')]
    rows.append(['centralised', best['runs_as'], *one, f'{np.mean(best["bytes"]):.0f}'])
    figures = result.figures
    print(
        f'{figures["log"]}: {figures["scans"]} scans, {figures["scans_learned"]} learned from, '
        f'{figures["steps"]} steps of {figures["period_s"]:g} s'
    )
    header = [f'{text}, {who}' for text in measures.values() for who in ('alone', 'fusion')]
    print_table(['', 'runs as', *header, 'bytes'], rows)
    print(
        'F1 and coverage: against the centralised map; held-out F1: against scans held out from '
        'all learners; %\nbytes per robot and step; for centralised, of the raw scans'
    )


def write(result: Result, folder: Path) -> None:
    """Write side-by-side pictures and a nav2 map of every robot and of the central learner."""
    from delama_ros.experiments.mapping.log_picture import Panel, write_panels
    from delama_ros.geometry.map_file import write_map

    trajectories = [np.array([reading.pose[:2] for reading in part]) for part in result.stretches]
    try:
        for i, robot in enumerate(result.robots):
            panels = [
                Panel(f'{robot} alone', result.alone[robot], trajectories[i : i + 1]),
                Panel(f'{robot} by fusion', result.fusion[robot]),
                Panel('centralised', result.central, trajectories),
            ]
            write_panels(panels, folder / f'{robot}.png')
            write_map(result.fusion[robot], folder / 'maps' / f'{robot}.yaml')
            write_map(result.alone[robot], folder / 'maps' / f'{robot}_alone.yaml')
        write_map(result.central, folder / 'maps' / 'centralised.yaml')
    except OSError as error:
        raise UserError(f'cannot write to {folder}: {error.strerror}') from error
    print(f'pictures: {folder / result.robots[0]}.png …; nav2 maps: {folder / "maps"}')

"""`delama eval log --starts unknown`: robots of recorded logs find a common frame."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from delama_ros.cli.evaluation import make_runner
from delama_ros.errors import UserError
from delama_ros.output import print_table, write_json


def run_meeting(args: argparse.Namespace) -> int:
    """Let robots with unknown starts find a common frame."""
    from delama_ros.data.log import LogError
    from delama_ros.data.read import read_log
    from delama_ros.experiments.mapping import log_meeting, log_slam

    pictures = None if args.out is None else Path(args.out)
    args.out = args.out or 'runs/eval'
    options = {'topic': args.topic, 'frame': args.frame, 'delay': args.delay}
    protocol = log_meeting.Protocol(
        len(args.files) if len(args.files) > 1 else args.robots, args.period, args.reach,
        args.checkpoint,
    )
    try:
        relations = log_slam.read_numbers(args.relations, 'relations') if args.relations else None
        logs = [read_log(file, raw=True, **options) for file in args.files]
        logs = [replace(log, readings=log.readings[: args.limit]) for log in logs]
        source = {
            'sources': [log_slam.source_of(file, args.limit, **options) for file in args.files]
        }
        found = log_meeting.meet(logs, protocol, source, make_runner(args))
        figures = {'log': [log.name for log in logs], **found.figures}
        if relations is not None:
            figures |= log_meeting.score(found, relations)
    except (LogError, ValueError) as error:
        raise UserError(str(error)) from error
    show_meeting(figures)
    if pictures:
        try:
            log_meeting.draw(found, pictures / 'common.png')
        except OSError as error:
            raise UserError(f'cannot write to {pictures}: {error.strerror}') from error
        print(f'{pictures / "common.png"}: common map and trajectories')
    if args.json:
        write_json(args.json, figures)
    return 0


def show_meeting(figures: dict[str, Any]) -> None:
    """Print which robots met when, and how well relations hold within and between them."""
    print(
        f'{", ".join(figures["log"])}: {figures["joined"]} of {figures["robots"]} robots in one '
        f'frame after {figures["steps"]} steps of {figures["period_s"]:g} s, the last '
        f'{figures["extra_steps"]} without scans; {figures["seconds"]:g} s'
    )
    rows = [
        [f'robot{i + 1}', str(scans), '–' if step is None else str(step), str(moves), f'{sent:.0f}']
        for i, (scans, step, moves, sent) in enumerate(zip(
            figures['scans'], figures['join_steps'], figures['frame_changes'], figures['bytes'],
            strict=True,
        ))
    ]
    print_table(['', 'scans', 'joined at step', 'changes of frame', 'bytes per step'], rows)
    for prefix, what in (('', 'within robots'), ('cross_', 'between robots')):
        if figures.get(f'{prefix}relations'):
            print(
                f'relation error {what} {figures[f"{prefix}translation_error_m"]:.4f} ± '
                f'{figures[f"{prefix}translation_std_m"]:.4f} m, '
                f'{figures[f"{prefix}rotation_error_deg"]:.3f}°, '
                f'{figures[f"{prefix}relations"]} relations'
            )
    if figures.get('cross_unjoined'):
        print(f'{figures["cross_unjoined"]} relations between robots without a common frame')

"""`delama view`: a swarm in a browser, live or recorded."""

from __future__ import annotations

import argparse
import threading
from typing import Any

from delama_ros.cli.interrupts import interrupts
from delama_ros.errors import UserError

EXAMPLES = """examples:
  delama view                             the robots of this ROS domain, live
  delama view runs/2026-01-31_12-00-00    a run that `delama swarm --bag` recorded
  delama view my_bag.mcap                 any bag with the topics of a swarm
  delama view --host 0.0.0.0              also for other machines; prints a join code
  delama swarm --view                     a simulated swarm and its page"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `view` subcommand."""
    parser = subparsers.add_parser(
        'view',
        help='watch a swarm, live or recorded, in a browser',
        description='Serve a page that shows the map, scan, path and state of every robot, the '
        'collaboration graph and the scores of the maps. A live view discovers all robots in its '
        'ROS domain (ROS_DOMAIN_ID).',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'recording', nargs='?', metavar='BAG', help='folder of a run, or a bag (default: live)'
    )
    parser.add_argument(
        '--host', default='127.0.0.1', help='address to serve on (default: this machine only)'
    )
    parser.add_argument('--port', type=int, help='port (default: 8420, or any free one)')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    return view_recording(args) if args.recording else view_live(args)


def view_live(args: argparse.Namespace) -> int:
    """Show the robots of the ROS domain."""
    from delama_ros.ros.viewer import view

    return view(host=args.host, port=args.port)


def view_recording(args: argparse.Namespace) -> int:
    """Show a bag, even while it is still being read."""
    from delama_ros.data.log import LogError
    from delama_ros.web.view.recording import fill, find_bag
    from delama_ros.web.view.watch import Watch

    try:
        path = find_bag(args.recording)
        watch = Watch(str(args.recording), live=False)
        from delama_ros.web.view.serve import Server

        server = Server(watch, args.host, args.port)
    except (LogError, ValueError) as error:
        raise UserError(str(error)) from error
    print(f'showing the recording at {server.address} (Ctrl-C to stop)', flush=True)
    threading.Thread(target=fill, args=(watch, path), daemon=True).start()
    with interrupts() as interrupted:
        interrupted.wait()
    server.stop()
    return 0

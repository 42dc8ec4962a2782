"""`delama view`: the swarm in a browser, live or as it was recorded."""

from __future__ import annotations

import argparse
import threading
from typing import Any

from delama_ros.cli.errors import UserError
from delama_ros.cli.interrupts import interrupts

EXAMPLES = """examples:
  delama view                             the robots of this ROS domain, live
  delama view runs/2026-01-31_12-00-00    a run that `delama swarm --bag` recorded
  delama view my_bag.mcap                 any bag with the topics of a swarm
  delama view --host 0.0.0.0              for other machines; they need the code that is printed
  delama swarm --view                     a simulated swarm and its page"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add the `view` subcommand."""
    parser = subparsers.add_parser(
        'view',
        help='watch a swarm, live or recorded, in a browser',
        description='Serve a page that shows map, scan, way and state of every robot, who '
        'collaborates with whom and how good the maps are. Live, it listens to ROS topics of the '
        'domain it is started in (ROS_DOMAIN_ID) and finds robots by itself.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'recording', nargs='?', metavar='BAG', help='folder of a run, or a bag (default: live)'
    )
    parser.add_argument(
        '--host', default='127.0.0.1', help='address to serve on (default: this machine only)'
    )
    parser.add_argument('--port', type=int, help='default: 8420, or any that is free')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    return view_recording(args) if args.recording else view_live(args)


def view_live(args: argparse.Namespace) -> int:
    """Show the robots of the ROS domain."""
    try:
        from rclpy.parameter import Parameter

        from delama_ros.nodes.viewer import view
    except ImportError as error:
        raise UserError(f'this needs ROS 2 and `pip install delama_ros[web]`: {error}') from error

    wanted = {'host': args.host, 'port': args.port}
    return view(
        parameter_overrides=[Parameter(k, value=v) for k, v in wanted.items() if v is not None]
    )


def view_recording(args: argparse.Namespace) -> int:
    """Show a bag; it can be looked at while it is still being read."""
    from delama_ros.logs.log import LogError
    from delama_ros.web.view.recording import fill, find_bag
    from delama_ros.web.view.watch import Watch

    try:
        path = find_bag(args.recording)
        watch = Watch(str(args.recording), live=False)
        from delama_ros.web.view.serve import Server

        server = Server(watch, args.host, args.port)
    except (LogError, ValueError, ImportError) as error:
        raise UserError(str(error)) from error
    print(f'the recording can be seen at {server.address} (Ctrl-C ends)', flush=True)
    threading.Thread(target=fill, args=(watch, path), daemon=True).start()
    with interrupts() as asked:
        asked.wait()
    server.stop()
    return 0

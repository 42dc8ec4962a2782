"""`delama`: one program with a subcommand per task."""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
from collections.abc import Sequence

from delama_ros import __version__
from delama_ros.cli.options import Parser, check
from delama_ros.errors import UserError
from delama_ros.extras import cure

COMMANDS = {
    'swarm': 'simulate a swarm of robots that map a building together',
    'view': 'watch a swarm, live or recorded, in a browser',
    'human': 'play the game in which people and agents learn lines together, and report on it',
    'replay': 'replay recorded logs or bags to robots that map them over ROS 2',
    'plan': 'show, describe and convert floor plans',
    'convert': 'convert a CARMEN log or a ROS 1 bag to rosbag2',
    'train': 'meta-train a model: features, evidence weights, coefficients',
    'eval': 'compare methods on the same data',
    'compare': 'run every method of the paper on the same data',
    'attack': 'let some robots lie, and measure the maps of the others',
    'bench': 'measure speed on this machine',
}

LONGEST = 1500  # characters of an error
EXAMPLES = """examples:
  delama swarm                              five robots map a generated flat
  delama swarm --robots 3 --steps 6         fewer robots, fewer steps
  delama plan generated:7 --png plan.png    draw the flat generated from seed 7
  delama bench core --json core.json        speed of the learning core

`delama COMMAND --help` explains a command."""


def make_parser(command: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the module of `command` is imported."""
    parser = Parser(
        prog='delama',
        description='Robots that learn one shared map without a server and without sharing scans.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--version', action='version', version=f'delama_ros {__version__}')
    subparsers = parser.add_subparsers(metavar='COMMAND', required=True)
    for name, summary in COMMANDS.items():
        if name == command:
            importlib.import_module(f'delama_ros.cli.{name}').add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=summary)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line: returns 0 for success, 1 for a failed run, 2 for a user's error."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        parser = make_parser(next((a for a in arguments if not a.startswith('-')), None))
        args = parser.parse_args(arguments)  # may load plugins
        check(args, arguments)
        return int(args.run(args))
    except UserError as error:
        print(f'delama: error: {_short(str(error))}', file=sys.stderr)
        return 2
    except BrokenPipeError:  # `delama … | head`
        sys.stderr.close()
        return 0
    except OSError as error:  # a file that is not there, a disk that is full
        where = f'{error.filename}: ' if error.filename else ''
        print(f'delama: error: {where}{error.strerror or error}', file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if not (line := cure(error.name or '')):
            raise
        print(f'delama: error: {line}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        gc.freeze()  # skips a last garbage collection at exit, which takes up to a second


def _short(text: str) -> str:
    """Return a text without the middle of a value that fills a page."""
    return text if len(text) <= LONGEST else f'{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}'


if __name__ == '__main__':
    sys.exit(main())

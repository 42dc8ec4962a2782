"""What the options of all commands have in common: how mistakes are told, and what is one."""

from __future__ import annotations

import argparse
import math
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from delama_ros.errors import UserError

# Options with a whole number, by name, and the most of it; all others may be up to MOST.
LARGEST = {'robots': 1000, 'jobs': 1000, 'port': 65_535, 'seed': 2**31 - 1, 'seeds': 2**31 - 1}
MOST = 1_000_000
NOT_NEGATIVE = ('seed', 'seeds', 'port')
FILES = ('json', 'png', 'plot', 'picture', 'gif', 'map')  # options that name a file to write
FOLDERS = ('out', 'plots')  # options that name a folder to write to, or a file


class Parser(argparse.ArgumentParser):
    """A parser that tells a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise a UserError."""
        raise UserError(f'{" ".join(message.split())}; see `{self.prog} --help`')


def check(args: argparse.Namespace, arguments: Sequence[str]) -> None:
    """Reject what makes no sense for any command, before it begins to compute.

    Args:
        args: the options.
        arguments: the command line they were read from.

    Raises:
        UserError: for a value that is empty, no number, absurdly large, or cannot be written to.
    """
    for number, text in enumerate(arguments):
        if not text or '\0' in text or (text.startswith('--') and text.endswith('=')):
            before = f' after {arguments[number - 1]}' if number else ''
            raise UserError(f'argument {number + 1}{before} is {text!r}, expected a value')
    for name, value in vars(args).items():
        for item in value if isinstance(value, list) else [value]:
            _check(name, f'--{name.replace("_", "-")}', item)


def _check(name: str, option: str, value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f'{option} is {value}, expected a finite number')
    if isinstance(value, int) and abs(value) > (most := LARGEST.get(name, MOST)):
        raise UserError(f'{option} is {value}, expected at most {most}')
    if name in NOT_NEGATIVE and isinstance(value, int) and value < 0:
        raise UserError(f'{option} is {value}, expected 0 or more')
    if name == 'host':
        _address(option, value)
    if isinstance(value, str) and name in (*FILES, *FOLDERS):
        _writable(option, Path(value), file=name in FILES)


def _address(option: str, host: str) -> None:
    """Raise UserError for an address that no page can be served on."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as trial:
            trial.bind(address)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise UserError(f'{option} is {host!r}, which is no address of this machine: {reason}'
                        ) from None


def _writable(option: str, path: Path, *, file: bool) -> None:
    """Raise UserError if a file or folder cannot be written."""
    reason = ''
    try:
        if file and path.is_dir():
            reason = 'it is a folder'
        elif not file and path.suffix != '.npz' and path.exists() and not path.is_dir():
            reason = 'it is a file'
        else:
            there = next(place for place in path.absolute().parents if place.exists())
            if not there.is_dir():
                reason = f'{there} is a file'
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
    if reason:
        raise UserError(f'cannot write {path} ({option}): {reason}')


def add_renamed(parser: argparse.ArgumentParser, name: str, old: str, **options: Any) -> None:
    """Add an option that used to be called otherwise: the old name is understood, but not shown.

    Args:
        parser: to add it to.
        name: of the option, such as --links.
        old: its name in earlier versions.
        options: as of `add_argument`.
    """
    shown = parser.add_argument(name, **options)
    hidden = {**options, 'dest': shown.dest, 'default': argparse.SUPPRESS}
    parser.add_argument(old, **{**hidden, 'help': argparse.SUPPRESS})

"""Options that had another name: the old one is still understood, but not shown."""

from __future__ import annotations

import argparse
from typing import Any


def add_renamed(parser: argparse.ArgumentParser, name: str, old: str, **options: Any) -> None:
    """Add an option that used to be called otherwise.

    Args:
        parser: to add it to.
        name: of the option, such as --links.
        old: its name in earlier versions.
        options: as of `add_argument`.
    """
    shown = parser.add_argument(name, **options)
    hidden = {**options, 'dest': shown.dest, 'default': argparse.SUPPRESS}
    parser.add_argument(old, **{**hidden, 'help': argparse.SUPPRESS})

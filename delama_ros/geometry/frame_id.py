"""Ids of frames that robots choose, 'MAKER:NUMBER': who made it, and its maker's number for it.

A frame of a robot that knows roughly where it started lies about where the map frame is; its id
says how exactly: 'MAKER:NUMBER~M,RAD', standard deviations of the maker's start pose.
"""

from __future__ import annotations

import re

SEPARATOR = ':'  # which may be part of a robot's name, too
NUMBER = r'[0-9]{1,4}(?:\.[0-9]{1,4})?'
PATTERN = re.compile(rf'(.+):([0-9]{{1,10}})(?:~({NUMBER}),({NUMBER}))?')


def join(maker: str, number: int, spread: tuple[float, float] | None = None) -> str:
    """Return the id of a frame; spread: m and rad, if it lies about where the map frame is.

    >>> join('ann', 2), join('ann', 2, (0.2, 0.052))
    ('ann:2', 'ann:2~0.2,0.052')
    """
    rough = '' if spread is None else '~' + ','.join(f'{round(v, 4):.9g}' for v in spread)
    return f'{maker}{SEPARATOR}{number}{rough}'


def split(frame: str) -> tuple[str, int, tuple[float, float] | None] | None:
    """Return maker, number and spread of a frame; None for the id of no such frame.

    >>> split('hall:ann:2'), split('ann:2~0.2,0.052')
    (('hall:ann', 2, None), ('ann', 2, (0.2, 0.052)))
    >>> split('map'), split('ann:one'), split('ann:2~nan,0')
    (None, None, None)
    """
    found = PATTERN.fullmatch(frame)
    if found is None:
        return None
    maker, number, shift, turn = found.groups()
    return maker, int(number), None if shift is None else (float(shift), float(turn))


def maker_of(frame: str) -> str:
    """Return the robot that made the frame of this id; '' for the id of no such frame.

    >>> maker_of('ann:2'), maker_of('hall:ann:0'), maker_of('ann:2~0.2,0.052'), maker_of('')
    ('ann', 'hall:ann', 'ann', '')
    """
    made = split(frame)
    return '' if made is None else made[0]

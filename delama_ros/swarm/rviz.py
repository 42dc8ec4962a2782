"""An RViz configuration for a swarm: map, scan, path and collaboration of every robot."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from typing import Any

import yaml


def rviz_config(
    robots: Sequence[str], frame: str = 'map', scans: Mapping[str, str] | None = None
) -> str:
    """Return the .rviz file; the map of the first robot is enabled, the others can be.

    Args:
        robots: names of the robots.
        frame: of the maps.
        scans: topic of the scans of robots that have another one than `scan`.
    """
    displays: list[dict[str, Any]] = [
        {'Class': 'rviz_default_plugins/Grid', 'Name': 'Grid', 'Enabled': True, 'Cell Size': 1},
        {'Class': 'rviz_default_plugins/TF', 'Name': 'TF', 'Enabled': False},
        _display('Map', 'truth', '/sim/truth', False, latched=True, Alpha=0.4),
    ]
    for number, robot in enumerate(robots):
        red, green, blue = colorsys.hsv_to_rgb(number / max(len(robots), 1), 0.9, 0.8)
        colour = '; '.join(str(round(255 * part)) for part in (red, green, blue))
        displays.append(
            {
                'Class': 'rviz_common/Group',
                'Name': robot,
                'Enabled': True,
                'Displays': [
                    _display('Map', 'map', f'/{robot}/map', number == 0, latched=True, Alpha=0.7),
                    {
                        **_display(
                            'LaserScan', 'scan', _absolute(robot, (scans or {}).get(robot, 'scan')),
                            True, Color=colour,
                        ),
                        'Color Transformer': 'FlatColor',
                        'Size (m)': 0.04,
                    },
                    _display('Path', 'path', f'/{robot}/path', True, latched=True, Color=colour),
                    _display(
                        *('MarkerArray', 'collaboration', f'/{robot}/collaboration_markers', True),
                        latched=True,
                    ),
                ],
            }
        )
    view = {
        'Class': 'rviz_default_plugins/TopDownOrtho',
        'Name': 'Top',
        'Scale': 40,
        'X': 7,
        'Y': 7,
    }
    first = next(iter(robots), '')
    manager = {
        'Class': '',
        'Name': 'root',
        'Enabled': True,
        'Displays': displays,
        'Global Options': {'Background Color': '240; 240; 240', 'Fixed Frame': frame},
        'Tools': [
            {'Class': 'rviz_default_plugins/MoveCamera'},
            {'Class': 'rviz_default_plugins/Select'},
            {'Class': 'rviz_default_plugins/Measure'},
            {
                'Class': 'rviz_default_plugins/SetInitialPose',
                'Topic': {'Value': f'/{first}/initialpose'},
            },
        ],
        'Views': {'Current': view},
    }
    panels = [
        {
            'Class': 'rviz_common/Displays',
            'Name': 'Displays',
            'Tree Height': 600,
            'Property Tree Widget': {'Expanded': ['/Global Options1', f'/{first}1']},
        },
        {'Class': 'rviz_common/Tool Properties', 'Name': 'Tool Properties'},
        {'Class': 'rviz_common/Views', 'Name': 'Views'},
        {'Class': 'rviz_common/Time', 'Name': 'Time'},
    ]
    window = {
        'Displays': {'collapsed': False},
        'Views': {'collapsed': True},
        'Tool Properties': {'collapsed': True},
        'Time': {'collapsed': False},
        'Width': 1400,
        'Height': 900,
    }
    return yaml.safe_dump(
        {'Panels': panels, 'Visualization Manager': manager, 'Window Geometry': window},
        sort_keys=False,
    )


def _absolute(robot: str, topic: str) -> str:
    return topic if topic.startswith('/') else f'/{robot}/{topic}'


def _display(
    kind: str, name: str, topic: str, enabled: bool, *, latched: bool = False, **values: Any
) -> dict[str, Any]:
    # RViz receives a map published before its start only with transient local durability.
    return {
        'Class': f'rviz_default_plugins/{kind}',
        'Name': name,
        'Enabled': enabled,
        'Topic': {
            'Value': topic,
            'Depth': 5,
            'History Policy': 'Keep Last',
            'Reliability Policy': 'Best Effort' if kind == 'LaserScan' else 'Reliable',
            'Durability Policy': 'Transient Local' if latched else 'Volatile',
        },
        **values,
    }

"""An RViz configuration for a swarm: map, scan, path and collaboration of every robot."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from typing import Any

import yaml


def rviz_config(robots: Sequence[str], frame: str = 'map') -> str:
    """Return the .rviz file; the map of the first robot is enabled, the others can be."""
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
                        **_display('LaserScan', 'scan', f'/{robot}/scan', True, Color=colour),
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
    manager = {
        'Class': '',
        'Displays': displays,
        'Global Options': {'Background Color': '240; 240; 240', 'Fixed Frame': frame},
        'Tools': [{'Class': 'rviz_default_plugins/MoveCamera'}],
        'Views': {'Current': view},
    }
    return yaml.safe_dump({'Visualization Manager': manager}, sort_keys=False)


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

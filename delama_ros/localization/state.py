"""Save and restore a localizer as plain arrays, so that a restart continues where it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.localization.graph import Prior
from delama_ros.localization.keyframes import Keyframe
from delama_ros.localization.localizer import Localizer
from delama_ros.localization.loops import Loop
from delama_ros.localization.own_map import FINE
from delama_ros.localization.relocate import Relocator
from delama_ros.localization.se2 import inverse_spd
from delama_ros.localization.surfels import Surfels
from delama_ros.localization.view import BINS

Arrays = dict[str, npt.NDArray[np.generic]]
VERSION = 3
MOST = 1_000_000  # keyframes, edges; more is not believed

# Shapes by name; K keyframes, M surfels of all of them, E edges, P priors, L pending loops,
# H scans of history, C keyframes of the local map.
SHAPES: dict[str, tuple[str | int, ...]] = {
    'version': (),
    'counters': (6,),
    'tension': (),
    'pose': (3,),
    'odometry': (3,),
    'trusted': (3,),
    'corrected': (3,),
    'calibration': (3,),
    'calibration_covariance': (3, 3),
    'range_bias': (3,),
    'map_centre': (2,),
    'map_ids': ('C',),
    'history': ('H', 7),
    'ids': ('K',),
    'stamps': ('K',),
    'poses': ('K', 3),
    'reported': ('K', 3),
    'odometries': ('K', 3),
    'origins': ('K', 2),
    'profiles': ('K', BINS),
    'counts': ('K',),
    'points': ('M', 2),
    'normals': ('M', 2),
    'weights': ('M',),
    'cosines': ('M',),
    'first': ('E',),
    'second': ('E',),
    'measured': ('E', 3),
    'information': ('E', 3, 3),
    'robust': ('E',),
    'prior_keys': ('P',),
    'prior_keyframes': ('P',),
    'prior_poses': ('P', 3),
    'prior_information': ('P', 3, 3),
    'loop_ids': ('L', 2),
    'loop_measured': ('L', 3),
    'loop_information': ('L', 3, 3),
    'loop_figures': ('L', 3),
}
WHOLE = {
    'version', 'counters', 'map_ids', 'ids', 'counts', 'first', 'second', 'robust',
    'prior_keyframes', 'loop_ids',
}  # fmt: skip


def save(localizer: Localizer) -> Arrays:
    """Return everything a localizer knows, except its trajectory recorder, as arrays."""
    if localizer.odometry is None:
        raise ValueError('there is nothing to save: the localizer has seen no scan')
    own = localizer.own
    items, graph, pending = own.keyframes.items, own.graph, own.loops.pending
    priors = graph.priors
    counters = [
        own.reference,
        own.looped,
        own.keyframes.next_id,
        own.loops.turn,
        localizer.failures,
        int(localizer.lost),
    ]
    return {
        'version': np.array(VERSION),
        'counters': np.array(counters, np.int64),
        'tension': np.array(own.tension),
        'pose': localizer.pose.copy(),
        'odometry': localizer.odometry.copy(),
        'trusted': localizer.trusted.copy(),
        'corrected': own.calibration.pose.copy(),
        'calibration': own.calibration.mean.copy(),
        'calibration_covariance': own.calibration.covariance.copy(),
        'range_bias': np.array([own.range_bias.mean, own.range_bias.variance, own.range_bias.used]),
        'map_centre': localizer.map_centre.copy(),
        'map_ids': localizer.map_ids.copy(),
        'history': np.array(localizer.history.rows).reshape(-1, 7),
        'ids': own.keyframes.ids.copy(),
        'stamps': np.array([k.stamp for k in items]),
        'poses': own.keyframes.poses.copy(),
        'reported': own.keyframes.reported.copy(),
        'odometries': np.array([k.odometry for k in items]),
        'origins': np.array([k.origin for k in items]),
        'profiles': np.array([k.profile for k in items]),
        'counts': np.array([len(k.surfels) for k in items], np.int64),
        'points': np.concatenate([k.surfels.points for k in items]),
        'normals': np.concatenate([k.surfels.normals for k in items]),
        'weights': np.concatenate([k.surfels.weights for k in items]),
        'cosines': np.concatenate([k.surfels.cosines for k in items]),
        'first': graph.first.copy(),
        'second': graph.second.copy(),
        'measured': graph.measured.copy(),
        'information': graph.information.copy(),
        'robust': graph.robust.copy(),
        'prior_keys': np.array(list(priors), np.str_),
        'prior_keyframes': np.array([p.keyframe for p in priors.values()], np.int64),
        'prior_poses': np.array([p.pose for p in priors.values()]).reshape(-1, 3),
        'prior_information': np.array([p.information for p in priors.values()]).reshape(-1, 3, 3),
        'loop_ids': np.array([(p.old, p.new) for p in pending], np.int64).reshape(-1, 2),
        'loop_measured': np.array([p.measured for p in pending]).reshape(-1, 3),
        'loop_information': np.array([p.information for p in pending]).reshape(-1, 3, 3),
        'loop_figures': np.array([(p.spread, p.inliers, p.residual) for p in pending]).reshape(
            -1, 3
        ),
    }


def restore(localizer: Localizer, state: Mapping[str, npt.ArrayLike]) -> None:
    """Make a localizer continue from a saved state.

    Args:
        localizer: takes the state over; what it knew before is gone. Its settings stay.
        state: as returned by `save`.

    Raises:
        ValueError: if anything is missing, of another shape, not finite or inconsistent; the
            localizer is then unchanged.

    """
    a = _checked(state)
    own = type(localizer.own)(localizer.settings, localizer.matcher)
    keyframes, graph = own.keyframes, own.graph
    ends = np.cumsum(a['counts'])
    for k in range(len(a['ids'])):
        part = slice(ends[k] - a['counts'][k], ends[k])
        surfels = Surfels(
            a['points'][part], a['normals'][part], a['weights'][part], a['cosines'][part]
        )
        keyframes.items.append(
            Keyframe(
                int(a['ids'][k]),
                float(a['stamps'][k]),
                a['odometries'][k],
                surfels,
                a['origins'][k],
                a['profiles'][k],
            )
        )
    keyframes.ids, keyframes.poses, keyframes.reported = a['ids'], a['poses'], a['reported']
    graph.first, graph.second, graph.robust = a['first'], a['second'], a['robust'].astype(bool)
    graph.measured, graph.information = a['measured'], a['information']
    graph.covariance = np.array([inverse_spd(i) for i in a['information']]).reshape(-1, 3, 3)
    for k, key in enumerate(a['prior_keys']):
        graph.priors[str(key)] = Prior(
            int(a['prior_keyframes'][k]), a['prior_poses'][k], a['prior_information'][k]
        )
    own.loops.pending = [
        Loop(int(i[0]), int(i[1]), z, o, *(float(v) for v in f))
        for i, z, o, f in zip(
            a['loop_ids'], a['loop_measured'], a['loop_information'], a['loop_figures'], strict=True
        )
    ]
    counters = [int(c) for c in a['counters']]
    own.reference, own.looped, keyframes.next_id, own.loops.turn = counters[:4]
    own.tension = float(a['tension'])
    own.calibration.pose, own.calibration.mean = a['corrected'], a['calibration']
    own.calibration.covariance = a['calibration_covariance']
    bias = own.range_bias
    bias.mean, bias.variance, bias.used = (float(v) for v in a['range_bias'])
    own.update_covariances()
    localizer.own = own
    localizer.failures = counters[4]
    localizer.pose, localizer.odometry, localizer.trusted = a['pose'], a['odometry'], a['trusted']
    localizer.history.rows = list(a['history'])
    localizer.map_ids, localizer.map_centre = a['map_ids'], a['map_centre']
    rows = np.searchsorted(keyframes.ids, localizer.map_ids)
    localizer.map = own.build(rows, localizer.map_centre, FINE)
    localizer.relocator = Relocator() if counters[5] else None


def _checked(state: Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
    """Copy all arrays with the right types; ValueError says what is wrong."""
    version = np.asarray(state.get('version', VERSION))
    if version.shape == () and version != VERSION:
        raise ValueError(f'localization state has version {version}, expected {VERSION}')
    missing = SHAPES.keys() - state.keys()
    if missing:
        raise ValueError(f'localization state lacks {sorted(missing)}')
    sizes: dict[str, int] = {}
    out: dict[str, npt.NDArray[Any]] = {}
    for name, shape in SHAPES.items():
        array = np.asarray(state[name])
        if name == 'prior_keys':
            array = array.astype(np.str_)
        else:
            try:
                number = array.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError(f'localization state: {name} holds no numbers') from None
            if not np.isfinite(number).all():
                raise ValueError(f'localization state: {name} holds values that are not finite')
            array = array.astype(np.int64) if name in WHOLE else number
        wanted = tuple(sizes.get(d, d) if isinstance(d, str) else d for d in shape)
        if array.ndim != len(wanted) or any(
            isinstance(w, int) and w != n for w, n in zip(wanted, array.shape, strict=True)
        ):
            raise ValueError(
                f'localization state: {name} has shape {array.shape}, expected {wanted}'
            )
        for d, n in zip(shape, array.shape, strict=True):
            if isinstance(d, str):
                sizes[d] = n
        out[name] = array.copy()
    _consistent(out)
    return out


def _consistent(a: dict[str, npt.NDArray[Any]]) -> None:
    ids = a['ids']
    if not 0 < len(ids) <= MOST or len(a['first']) > MOST:
        raise ValueError(f'localization state has {len(ids)} keyframes, expected 1..{MOST}')
    if ids[0] < 0 or (np.diff(ids) <= 0).any():
        raise ValueError('localization state: ids of keyframes do not ascend')
    if (a['counts'] < 0).any() or a['counts'].sum() != len(a['points']):
        raise ValueError('localization state: counts do not add up to the number of surfels')
    named = [a['first'], a['second'], a['prior_keyframes'], a['map_ids'], a['counters'][:2]]
    if not np.isin(np.concatenate(named), ids).all():
        raise ValueError('localization state refers to keyframes that are not in it')
    if (a['first'] >= a['second']).any():
        raise ValueError(
            'localization state: an edge does not go from an older keyframe to a newer'
        )
    if a['counters'][2] <= ids[-1]:
        raise ValueError('localization state: the next id is already in use')
    for name in ('information', 'prior_information', 'loop_information', 'calibration_covariance'):
        if len(a[name]) and np.linalg.eigvalsh(a[name])[..., 0].min() <= 0:
            raise ValueError(f'localization state: {name} is not positive definite')

"""Rendezvous: robots find each other's frame from the models they exchange anyway.

No ROS, no sockets, no threads; numpy, scipy and numba only. Transforms are (x, y, yaw) arrays in m
and rad and map a peer's frame into this robot's.

A robot uses it like this, once per step:

    tiles = tiles_of(keys, theta, evidence, table, bias)   # of any model: own or received
    attempts.set_own(tiles); attempts.set_peer(name, tiles)
    tasks = [Task(name, belief.transform if belief.joined else None) for name, belief in ...]
    for result in attempts.run(tasks, budget=0.3):          # may run in a worker
        beliefs[result.peer].update(result.outcome)
    move = choice.update(tags, {name: belief.link for name, belief in ...})
    if move is not None:                                    # re-express the map by move.transform
        for belief in beliefs.values(): belief.move_own(move.transform)
        attempts.set_own(tiles, moved=True)

- `surface`: `Tiles`, `tiles_of`, `Surface`, `surface_of`: walls as surfels, open space.
- `patches`, `candidates`, `refine`, `verify`, `register`: two patches, rigidly.
- `attempt`: `Search` (resumable), `check` (of a believed transform), `Rule`, `Outcome`, `Reason`.
- `attempts`: `Attempts`, `Task`, `Result`: what to try next within a budget of time.
- `window`: `StartPrior`, `Window`: where to search when starts are roughly known.
- `belief`: `Belief`, `State`, `Rules`: searching, candidate, joined, withdrawn, refused.
- `frames`: `FrameChoice`, `Tag` (crosses the air), `Link`, `Bond`, `Move`; `groups` of `Edge`s.

When a peer sends another tag than before, its model lies in another frame: call `belief.move_peer`
if the move is known, otherwise `belief.forget()`, and `attempts.set_peer(..., moved=True)`. A peer
with the same tag shares the frame: `belief.give` the identity; checks go on and oppose it if the
maps disagree. Transforms are never sent: a robot that moves to a peer's frame re-expresses its own
keyframes, and its next model is in that frame.
"""

from delama_ros.rendezvous.attempt import Search, check
from delama_ros.rendezvous.attempts import Attempts, Result, Task
from delama_ros.rendezvous.belief import Belief, Rules, State
from delama_ros.rendezvous.frames import Bond, Edge, FrameChoice, Group, Link, Move, Tag, groups
from delama_ros.rendezvous.outcome import Outcome, Reason, Rule
from delama_ros.rendezvous.surface import Surface, Tiles, surface_of, tiles_of
from delama_ros.rendezvous.window import StartPrior

__all__ = [
    'Attempts', 'Belief', 'Bond', 'Edge', 'FrameChoice', 'Group', 'Link', 'Move', 'Outcome',
    'Reason', 'Result', 'Rule', 'Rules', 'Search', 'StartPrior', 'State', 'Surface', 'Tag', 'Task',
    'Tiles', 'check', 'groups', 'surface_of', 'tiles_of',
]

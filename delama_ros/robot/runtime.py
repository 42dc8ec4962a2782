"""One robot without ROS: scans, messages and the clock in; messages, maps and status out.

Not thread-safe: a node calls everything here from one thread, its worker.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from delama_ros.core.agent.messages import Phase
from delama_ros.core.agent.refusal import Refusal, Refused
from delama_ros.geometry.grid import OccupancyMap, Pose
from delama_ros.geometry.poses import as_pose
from delama_ros.mapping.completion import packaged as packaged_decoder
from delama_ros.mapping.default import default_mapper
from delama_ros.mapping.mapper import Mapper
from delama_ros.mapping.scan import Scan
from delama_ros.rendezvous.frames import Move
from delama_ros.robot import localization as slam
from delama_ros.robot.border import Border
from delama_ros.robot.driver import Driver, Report
from delama_ros.robot.localization import Localization, Located
from delama_ros.robot.memory_file import load_memory, save_memory
from delama_ros.robot.parameters import encoding, swarm_key
from delama_ros.robot.peers import Peers
from delama_ros.robot.rendezvous import Rendezvous, frame_id
from delama_ros.robot.status import LocalizationState, Status
from delama_ros.robot.timed_scan import TimedScan
from delama_ros.robot.traffic import Traffic
from delama_ros.transport.port import Port, Wire

NO_STEP = Report(0, {}, frozenset(), 0, 0, 0.0, 0.0, 0.0)


class Runtime:
    """A robot's mapper, its steps, its memory file and its statistics."""

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any],
        *,
        send: Callable[[Wire], int],
        located: Callable[[Located], None],
        step_done: Callable[[Report, Callable[[], OccupancyMap]], None],
        info: Callable[[str], object],
        warn: Callable[[str], object],
    ) -> None:
        """Load the model, and the memory if it was saved.

        Args:
            name: of the robot in the swarm.
            options: values of the parameters in `parameters.ROBOT`.
            send: sends a message to all peers, returns its size in bytes.
            located: called with the pose of every scan.
            step_done: called at the end of a step, with what draws its map.
            info: logs what happens.
            warn: logs what is wrong.

        Raises:
            ValueError: if a parameter, the checkpoint or the memory file is invalid.
            OSError: if a file cannot be read or written.
        """
        self.name = name
        self._options = options
        self._epoch = int(time.time())  # a number that no earlier run of this robot began with
        self._send, self._located, self._step_done = send, located, step_done
        self._info, self._warn = info, warn
        try:
            self._memory_file = Path(options['memory_file']).expanduser()
        except RuntimeError as error:
            raise ValueError(f'memory_file is {options["memory_file"]!r}: {error}') from error
        self.saves_memory = bool(options['memory_file'])
        self.unsaved = ''  # why the memory could not be saved when it last should have been
        self.rendezvous: Rendezvous | None = None  # with slam, unless the start is exact
        self._last_move: Move | None = None
        self.mapper = self._new_mapper()
        self._localization = Localization(options)
        self._decoder = packaged_decoder() if options['complete'] else None
        warm_up(self._new_mapper(), options)
        if self.saves_memory and self._memory_file.exists():
            self.load_memory(self._memory_file)
            info(f'resumed with {self.tiles} tiles from {self._memory_file}')
        self._driver = Driver(
            self.mapper,
            Port(name, encoding(options)),
            period=options['period'],
            deadline=options['deadline'],
            steps=options['steps'],
            send=self._count_and_send,
            finished=self._on_step_done,
        )
        if self.saves_memory:  # an unwritable file is reported at the start, not at the end
            self.save_memory()
        self.key = swarm_key(options)
        self.border = Border(
            name, encoding=options['encoding'], key=self.key, drop=self._forget_peer
        )
        self._frames_due = False  # models of a step have not been compared yet
        self._leaving = False  # the frame, on request
        self._report = NO_STEP
        self._peers, self._traffic = Peers(), Traffic()

    # Input

    def add_scan(self, scan: TimedScan) -> None:
        """Localize a scan and add it to the map."""
        self._driver.advance(scan.stamp)
        lost = self._localization.status().state is LocalizationState.LOST
        try:
            located, edits = self._localization.add(scan)
        except ValueError as error:
            self._warn(f'scan refused: {error}')
            return
        if self.rendezvous is None and self._localization.free:
            self.rendezvous = Rendezvous(
                self.name, self.mapper, epoch=self._epoch, wall=self._options['join_wall'],
                spread=self._localization.spread,
            )
        self._driver.add_edits(edits)
        self._located(located)
        if lost != (self._localization.status().state is LocalizationState.LOST):
            self._log_lost(lost)

    def set_pose(self, pose: Pose, covariance: npt.ArrayLike) -> None:
        """Set the pose of the base in the map; ValueError for values that are not finite."""
        self._localization.set_pose(pose, covariance)

    def relocalize(self) -> None:
        """Search the whole map for the robot; ValueError if there is no map yet."""
        self._localization.relocalize()

    def set_links(self, stamp: float, received: frozenset[str], known: frozenset[str]) -> None:
        """Let a radio decide who is received from `stamp` s on, of all robots that exist."""
        self._driver.links.add(stamp, received)
        self._peers.known = known

    def admit(self, data: bytes | int, topic: str, publisher: bytes, now: float) -> bool:
        """Tell whether a message may be unpacked; one that is refused is counted and reported.

        Args:
            data: the serialised message, or its size if that was too large to take.
            topic: `dual` or `params`.
            publisher: GID of its publisher.
            now: s of this robot's clock.
        """
        driver, border = self._driver, self.border
        try:
            if isinstance(data, int):
                raise ValueError(f'{data} bytes, expected at most {border.longest}')
            checked = border.check(
                data, topic, publisher, driver.step, driver.in_range, driver.unwanted
            )
        except ValueError as error:
            self._reject('', Refused(Refusal.MALFORMED, str(error)))
            return False
        if checked is None:
            return False
        envelope, refused = checked
        robot = envelope.label.robot
        if robot in border.names:
            self._peers.note(robot, now - envelope.stamp)
            self._peers.bytes[robot] += len(data)
        if refused is not None:
            self._reject(robot, refused)
        return refused is None

    def add_message(self, wire: Wire) -> None:
        """Take a peer's message that was admitted."""
        refused = self._driver.add_message(wire)
        if refused is None:
            self._peers.rejected.pop(wire.robot, None)
        else:
            self._report_refusal(wire.robot, refused)

    def add_malformed(self, sender: str, text: str) -> None:
        """Take note of a message that could not be read."""
        self._reject(sender, Refused(Refusal.MALFORMED, text))

    def tick(self, now: float) -> None:
        """Advance the common clock to `now` s."""
        jumps = self._driver.counts.clock_jumps
        self._driver.tick(now)
        if self._driver.counts.clock_jumps > jumps:
            self.border.restart()
            self._warn(f'the clock jumped back to {now:.1f} s: step counting restarts, '
                       'the map is kept')

    @property
    def wakes_at(self) -> float | None:
        """Value of time.monotonic() at which `wake` must be called; None: never."""
        return self._driver.wakes_at

    def wake(self) -> None:
        """Close the current round if its deadline has passed."""
        self._driver.wake()

    def learn(self) -> Move | None:
        """Learn from pending scans and look for peers' frames, unless a step is in progress.

        Returns:
            The change of the map frame, if there was one: the next map shows it.
        """
        self._driver.learn()
        if self.rendezvous is None or not self._driver.idle:
            return None
        move = None
        if self._leaving:
            move = self.rendezvous.forget()
        elif self._frames_due:
            move = self.rendezvous.update()
        self._leaving = self._frames_due = False
        if move is not None:
            self._localization.transform(move.transform)
        priors = self.rendezvous.priors()
        if priors is not None:
            for edit in self._localization.set_priors(priors):
                edit(self.mapper)
        if move is not None:
            self._last_move = move
            x, y, yaw = move.transform.tolist()
            self._info(
                f'map frame {self._shown(frame_id(move.old))} → {self._shown(frame_id(move.new))} '
                f'({move.why.name.lower()}): the map moved by '
                f'{x:.2f} m, {y:.2f} m, {math.degrees(yaw):.1f}°'
            )
        return move

    def forget_frame(self, name: str) -> str:
        """Discard the estimated transform to a peer's frame; leave the frame if they share it.

        Args:
            name: of a peer; empty or the robot's own to leave the frame in any case.

        Returns:
            What happens now.

        Raises:
            ValueError: if the robot does not look for frames, or does not know the peer.
        """
        if self.rendezvous is None:
            raise ValueError('no frame to forget: the starting pose is known, or no scan '
                             'has been mapped yet')
        if name in ('', self.name) or name in self.mapper.agent.received:
            self._leaving = True  # between steps
            frame = self._shown(self.frame)
            return f'leaving frame {frame}; starting a new frame with the same origin'
        belief = self.rendezvous.belief(name)
        if belief is None:
            known = ', '.join(sorted(self.known)) or 'none'
            raise ValueError(f'unknown peer {name!r}; received so far: {known}')
        belief.forget()
        return f'searching for the frame of {name} again'

    def interrupt(self) -> None:
        """Abandon a step in progress; what was learned is kept."""
        self._driver.restart()

    # Memory

    def save_memory(self, path: Path | None = None) -> None:
        """Save the memory to its file, or to another."""
        self._driver.learn()  # keyframes that are not in the map yet
        save_memory(path or self._memory_file, self.mapper, self._localization)

    def keep_memory(self) -> None:
        """Save the memory to its file; a failure is a problem in the status until one succeeds."""
        try:
            self.save_memory()
            self.unsaved = ''
        except OSError as error:
            reason = error.strerror or error
            self.unsaved = f'the memory was not saved to {self._memory_file}: {reason}'
            self._warn(self.unsaved)

    def load_memory(self, path: Path) -> None:
        """Replace the memory by that of a file; the robot goes on in the frame it was saved in."""
        load_memory(path, self.mapper, self._localization)
        self._end_rendezvous()

    def reset(self) -> None:
        """Discard everything learned and start over."""
        self.mapper = self._new_mapper()
        self._localization.reset()
        self._driver.replace_mapper(self.mapper)
        self._end_rendezvous()

    def _end_rendezvous(self) -> None:
        """Begin to look for frames anew with the next scan."""
        if self.rendezvous is not None:  # numbers that were used are not used again
            self._epoch = max(self._epoch + self.rendezvous.moves + 1, int(time.time()))
        self.rendezvous, self._last_move = None, None

    # Output

    @property
    def known(self) -> frozenset[str]:
        """All peers this robot knows of, received or not."""
        return self._peers.known

    @property
    def frame(self) -> str:
        """Id of the frame that models are in; empty if the starting pose is known."""
        return '' if self.rendezvous is None else self.mapper.agent.frame

    @property
    def sharing(self) -> frozenset[str]:
        """Peers whose poses are in this robot's frame."""
        return self.known if self.rendezvous is None else frozenset(self.mapper.agent.received)

    @property
    def tiles(self) -> int:
        """Number of tiles of the robot's own memory."""
        return len(self.mapper.agent.memory[0])

    def occupancy(self) -> OccupancyMap:
        """Draw the map."""
        return self.mapper.occupancy()

    def completed(self) -> OccupancyMap | None:
        """Draw the map with unobserved space predicted, if the parameter `complete` is set."""
        return None if self._decoder is None else self.mapper.completed(self._decoder)

    def status(self, problems: list[str]) -> Status:
        """Return how the robot is doing; problems: what is wrong with its sensors."""
        counts, report, sent = self._driver.counts, self._report, self._traffic.in_step
        agent, move = self.mapper.agent, self._last_move
        scan_rate, byte_rate = self._traffic.rates(counts.scans)
        models = sent[Phase.LOCAL] + sent[Phase.UPDATE]
        return Status(
            robot=self.name,
            problems=(
                *problems, *self._localization_problems(),
                *filter(None, (self.mapper.extent.problem, self.unsaved)),
                *self.border.problems(self._driver.step),
                *self._peers.problems(self._options['quiet']),
            ),
            frame=self.frame,
            frame_changes=0 if self.rendezvous is None else self.rendezvous.moves,
            frame_shift=(0.0, 0.0, 0.0) if move is None else as_pose(move.transform),
            step=report.step,
            steps_limit=self._options['steps'],
            neighbours=len(report.neighbours),
            rounds_complete=report.complete,
            rounds_incomplete=report.incomplete,
            bytes_local=sent[Phase.LOCAL],
            bytes_relation=sum(sent.values()) - models,
            bytes_update=sent[Phase.UPDATE],
            step_seconds=report.seconds,
            exchange_seconds=report.exchanging,
            computing_seconds=report.computing,
            steps=counts.steps - (self._driver.wakes_at is not None),  # one may be in progress
            steps_skipped=counts.skipped_steps,
            clock_jumps=counts.clock_jumps,
            scans=counts.scans,
            rounds_complete_total=agent.complete_rounds,
            rounds_incomplete_total=agent.incomplete_rounds,
            bytes_total=self._traffic.total,
            refused={str(reason): count for reason, count in counts.refused.items()},
            scans_per_second=scan_rate,
            bytes_per_second=byte_rate,
            tiles=self.tiles,
            localization=self._localization.status(),
            peers=self._peers.statuses(report, self._driver, self.rendezvous),
        )

    def _localization_problems(self) -> list[str]:
        lost = self._localization.status().state is LocalizationState.LOST
        return ['lost: scans do not match the map, nothing is mapped'] if lost else []

    def _log_lost(self, was_lost: bool) -> None:
        if was_lost:
            self._info('localized again: mapping continues')
        else:
            self._warn('lost: scans do not match the map, nothing is mapped until they do')

    # Internals

    def _shown(self, frame: str) -> str:
        """Return a frame's id for people; that of robots with exact starts has none."""
        return frame or str(self._options['map_frame'])

    def _new_mapper(self) -> Mapper:
        checkpoint = self._options['checkpoint'] or None
        return default_mapper(self.name, checkpoint, retention=self._options['retention'])

    def _count_and_send(self, wire: Wire) -> None:
        self._traffic.add(Phase(wire.phase), self._send(wire))

    def _on_step_done(self, report: Report) -> None:
        self._report = report
        self.border.trusted = self._driver.trusted
        self._frames_due = True
        self._traffic.end_step()
        self._step_done(report, self.mapper.occupancy)

    def _reject(self, sender: str, refused: Refused) -> None:
        """Count a message that was refused before the driver saw it."""
        self._driver.refuse(sender, refused)
        self._report_refusal(sender, refused)

    def _report_refusal(self, sender: str, refused: Refused) -> None:
        if refused.reason.out_of_step:  # expected while robots come and go
            return
        # What others send in a robot's name says nothing about the robot itself.
        if sender in self.border.names and not refused.reason.of_another:
            self._peers.rejected[sender] = refused.reason
        self._warn(f'message of {sender!r} rejected: {refused}')

    def _forget_peer(self, name: str) -> None:
        self._driver.forget(name)
        self._peers.forget(name)


def warm_up(mapper: Mapper, options: Mapping[str, Any]) -> None:
    """Compile everything a step needs, on a mapper of its own, before the first scan arrives."""
    if options['localization'] in ('auto', 'slam'):
        slam.warm_up(Localization(options))
    mapper.add_scan(Scan(np.ones(4), 0.0, np.pi / 2, 0.1, 2.0), (0.0, 0.0, 0.0))
    mapper.begin(1, [])
    while not mapper.agent.done:
        mapper.agent.advance()
    mapper.occupancy()

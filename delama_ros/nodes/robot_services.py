"""Services of a robot: save its map, save and load its memory, reset, pause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from std_srvs.srv import SetBool, Trigger

from delama_ros.srv import File
from delama_ros.swarm.memory_file import load_memory, save_memory
from delama_sim.map_file import write_map

if TYPE_CHECKING:
    from delama_ros.nodes.robot import Robot


class RobotServices:
    """Answers from the node's own state, on its worker, so that no step is seen half-done."""

    def __init__(self, node: Robot) -> None:
        self._node = node
        create = node.create_service
        self._services = [
            create(File, '~/save_map', self._with_path(self._save_map)),
            create(File, '~/save_memory', self._with_path(self._save_memory)),
            create(File, '~/load_memory', self._with_path(self._load_memory)),
            create(Trigger, '~/reset', self._on_reset),
            create(SetBool, '~/pause', self._on_pause),
        ]

    def close(self) -> None:
        """Take the services away."""
        for service in self._services:
            self._node.destroy_service(service)

    def _with_path(self, action: Callable[[Path], str]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            try:
                if not request.path:
                    raise ValueError('path is empty, expected a file name')
                path = Path(request.path).expanduser()  # RuntimeError: no such user
                response.message = self._node.on_worker(action, path)
                response.success = True
            except (OSError, RuntimeError, ValueError) as error:
                response.message = str(error)
            return response

        return answer

    def _save_map(self, path: Path) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        occupancy = self._node.mapper.occupancy()
        named = path if path.suffix == '.yaml' else path.with_name(path.name + '.yaml')
        file = write_map(occupancy, named)
        return f'{occupancy.shape[1]} x {occupancy.shape[0]} cells in {file}'

    def _save_memory(self, path: Path) -> str:
        save_memory(path, self._node.mapper)
        return f'{len(self._node.mapper.agent.memory[0])} tiles in {path}'

    def _load_memory(self, path: Path) -> str:
        load_memory(path, self._node.mapper)
        return f'{len(self._node.mapper.agent.memory[0])} tiles from {path}'

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._node.on_worker(self._node.forget)
        response.success, response.message = True, 'all that was learned is forgotten'
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._node.paused = request.data
        response.success = True
        response.message = 'paused: scans are not learned from' if request.data else 'running'
        return response

"""Services of a robot: save map and memory, load memory, relocalize, forget frame, reset, pause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from delama_ros.geometry.map_file import write_map
from delama_ros.robot.runtime import Runtime
from delama_ros.robot.save_folder import below
from delama_ros.srv import File, ForgetFrame


class RobotServices:
    """Answers from the robot's runtime, on its worker, so that no step is seen half-finished."""

    def __init__(
        self,
        node: Node,
        runtime: Runtime,
        *,
        folder: Path,
        on_worker: Callable[..., Any],
        pause: Callable[[bool], None],
    ) -> None:
        """Offer the services.

        Args:
            node: that offers them.
            runtime: of the robot.
            folder: the only one that files are written to and read from.
            on_worker: calls a function of the runtime when nobody else uses it.
            pause: ignores scans from now on, or no longer.
        """
        self._node, self._runtime, self._folder = node, runtime, folder
        self._on_worker, self._pause = on_worker, pause
        create = node.create_service
        self._services = [
            create(File, '~/save_map', self._with_path(self._save_map)),
            create(File, '~/save_memory', self._with_path(self._save_memory)),
            create(File, '~/load_memory', self._with_path(self._load_memory)),
            create(Trigger, '~/relocalize', self._on_relocalize),
            create(ForgetFrame, '~/forget_frame', self._on_forget_frame),
            create(Trigger, '~/reset', self._on_reset),
            create(SetBool, '~/pause', self._on_pause),
        ]

    def close(self) -> None:
        """Remove the services."""
        for service in self._services:
            self._node.destroy_service(service)

    def _with_path(self, action: Callable[[Path], str]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            try:
                path = below(self._folder, request.path)
                response.message = self._on_worker(action, path)
                response.success = True
            except (OSError, RuntimeError, ValueError) as error:
                response.message = str(error)
            return response

        return answer

    def _save_map(self, path: Path) -> str:
        path = path / 'map' if path.is_dir() else path
        path.parent.mkdir(parents=True, exist_ok=True)
        occupancy = self._runtime.occupancy().trinary()
        named = path if path.suffix == '.yaml' else path.with_name(path.name + '.yaml')
        file = write_map(occupancy, named)
        return f'{occupancy.shape[1]} x {occupancy.shape[0]} cells saved to {file}'

    def _save_memory(self, path: Path) -> str:
        self._runtime.save_memory(path)
        return f'{self._runtime.tiles} tiles saved to {path}'

    def _load_memory(self, path: Path) -> str:
        self._runtime.load_memory(path)
        return f'{self._runtime.tiles} tiles loaded from {path}'

    def _on_relocalize(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._on_worker(self._runtime.relocalize)
            response.success, response.message = True, 'searching the map for the robot'
        except (RuntimeError, ValueError) as error:
            response.message = str(error)
        return response

    def _on_forget_frame(
        self, request: ForgetFrame.Request, response: ForgetFrame.Response
    ) -> ForgetFrame.Response:
        try:
            response.message = self._on_worker(self._runtime.forget_frame, request.name)
            response.success = True
        except (RuntimeError, ValueError) as error:
            response.message = str(error)
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._on_worker(self._runtime.reset)
        response.success, response.message = True, 'everything learned is discarded'
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._pause(request.data)
        response.success = True
        response.message = 'paused: scans are ignored' if request.data else 'running'
        return response

"""Entry point of the simulator, which stands above the other node programs."""

from delama_ros.ros.programs import main


def simulator() -> int:
    """Simulate the world of the robots."""
    return main('delama_ros.simulation.node')

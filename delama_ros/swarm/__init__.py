"""A swarm as one description: read by `ros2 launch` and by `delama swarm` alike."""

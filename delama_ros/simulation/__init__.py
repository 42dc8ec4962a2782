"""The simulated world: as a ROS 2 node, and in process."""

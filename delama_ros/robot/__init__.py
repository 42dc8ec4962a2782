"""One robot's runtime without ROS: stepping, parameters and the memory file."""

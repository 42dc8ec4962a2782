"""ROS 2 nodes: parameters, topics, frames, timers; nothing that could be tested without ROS."""

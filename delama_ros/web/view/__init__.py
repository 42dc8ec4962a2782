"""The swarm in a browser: its state over time, from ROS topics or a bag, and the page."""

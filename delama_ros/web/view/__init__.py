"""The swarm as it is seen in a browser: state over time from ROS topics or a bag, and the page."""

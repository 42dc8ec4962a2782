"""Learning core: the mathematics of DeLAMA, without ROS and without input or output."""

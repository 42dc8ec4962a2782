"""Worlds for robot swarms: floor plans, LiDARs, exploration, odometry and radio, without ROS."""

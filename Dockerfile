# docker build -t delama_ros . && docker run --rm -it delama_ros
# `dependencies` is what .devcontainer uses; the whole file also has the package built.
ARG ROS_DISTRO=jazzy
FROM ros:${ROS_DISTRO}-ros-base AS dependencies
WORKDIR /ws
COPY package.xml src/delama_ros/package.xml
COPY .ci/rosdep src/delama_ros/.ci/rosdep
COPY requirements/noble.txt src/delama_ros/requirements/noble.txt
RUN src/delama_ros/.ci/rosdep && rm -rf /var/lib/apt/lists/*

FROM dependencies
COPY . src/delama_ros
RUN . /opt/ros/$ROS_DISTRO/setup.sh && colcon build
CMD ["bash", "-c", "source install/setup.bash && exec ros2 launch delama_ros swarm.launch.py"]

"""DeLAMA for ROS 2: robots that learn together without a server and without sharing raw data."""

from pkgutil import extend_path

# The generated messages (delama_ros.msg) may lie in another folder of sys.path.
__path__ = extend_path(__path__, __name__)
__version__ = '0.1.0'

"""Declares a table of parameters on a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from delama_ros.swarm.options import Option


def declare(node: Node, options: Mapping[str, Option], *, may_change: str = '') -> dict[str, Any]:
    """Declare all and return their values; all but `may_change` are read-only."""
    values = {}
    for name, option in options.items():
        kind = type(option.default)
        low, high = option.low, option.high
        descriptor = ParameterDescriptor(
            description=option.text,
            read_only=name != may_change,
            floating_point_range=[FloatingPointRange(from_value=float(low), to_value=float(high))]
            if kind is float
            else [],
            integer_range=[IntegerRange(from_value=int(low), to_value=int(min(high, 2**31 - 1)))]
            if kind is int
            else [],
        )
        values[name] = node.declare_parameter(name, option.default, descriptor).value
    return values

"""Declares a table of parameters on a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from delama_ros.robot.parameters import Option


def declare(node: Node, options: Mapping[str, Option], *, mutable: str = '') -> dict[str, Any]:
    """Declare all parameters of a table and return their values; only `mutable` may change."""
    values = {}
    for name, option in options.items():
        kind = type(option.default)
        low, high = option.low, option.high
        descriptor = ParameterDescriptor(
            description=option.text,
            read_only=name != mutable,
            floating_point_range=[FloatingPointRange(from_value=float(low), to_value=float(high))]
            if kind is float
            else [],
            integer_range=[IntegerRange(from_value=int(low), to_value=int(min(high, 2**31 - 1)))]
            if kind is int
            else [],
        )
        values[name] = node.declare_parameter(name, option.default, descriptor).value
    return values

"""The one way numerical kernels are compiled."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar('Function', bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a kernel, keep the machine code on disk, and let x / 0 be infinite as in numpy."""
    return cast(Function, numba.njit(cache=True, nogil=True, error_model='numpy')(function))

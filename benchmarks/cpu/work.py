"""What a row of the table is: work that Heddle and its peers do on the same values, and a goal."""
import dataclasses
from typing import Callable

import torch

TORCH = {"f32": torch.float32, "bf16": torch.bfloat16}


@dataclasses.dataclass
class Goal:
    """All that is asked for: at least `peak` of the FMA peak; at least `read` of the rate of a plain read of the same buffers; `peers` times as
    fast as every peer, or as the one that `against` names; a visible score costs at most `growth` times what it does in the group's
    shortest row of the same type."""
    peak: float = None
    read: float = None
    peers: float = None
    against: str = None
    growth: float = None


@dataclasses.dataclass
class Work:
    """Both sides of a row, ready to be called.

    `heddle` runs the entry and `output` is the tensor it fills. A peer is a list of forms, of which the fastest counts: a name and a
    function that returns a tensor of the values of `output` in any shape; or a text that says why there is none. `reads` are the tensors that the
    work has to read, where a plain read is its yardstick."""
    heddle: Callable
    output: torch.Tensor
    peers: dict
    limit: float
    reads: list = None


@dataclasses.dataclass
class Row:
    """`make(threads)` gives the Work; `threads` is None where the command line decides. `flops` counts what has to be computed; a `large` row
    takes seconds a call."""
    group: str
    name: str
    dtype: str
    make: Callable
    goal: Goal
    flops: float
    threads: int = None
    large: bool = False


def random_tensors(seed):
    """A function that makes normally distributed tensors of a type, the same ones for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return lambda shape, dtype, scale=1.0: (torch.randn(*shape, generator=generator) * scale).to(TORCH[dtype])

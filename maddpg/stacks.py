"""Stacks: several multilayer perceptrons of equal shape, trained side by side by batched matrix products.

Every member's parameters are one row of a matrix [P, K]. Clipping, Adam and target averaging are then one call
on that matrix, and nothing couples the members. Gradients are written out by hand: the networks are plain, and
this saves the bookkeeping of automatic differentiation, which costs as much as small matrix products do. The
tests hold them against automatic differentiation.

Outputs lie [n, outputs, rows], the narrow axis first: products with a handful of columns, and reductions over
a handful of actions, are several times slower the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor
from torch.optim.adam import adam

LEAK = 0.1
"""Slope of the leaky ReLU below zero."""


@dataclass(frozen=True)
class Shape:
    """Widths of one member. `identities` is the number of agents that share it, 0 where none does: then each has
    a row of its own that is added to the first bias (the same as a one-hot of the agent in the input)."""

    inputs: int
    hidden: tuple[int, ...]
    outputs: int
    activation: Literal["relu", "leaky_relu"] = "relu"
    identities: int = 0

    def parts(self) -> list[tuple[str, tuple[int, ...]]]:
        """Name and shape of every parameter in the order in which they lie in a row. Weights are [in, out], the
        last one [out, in]."""
        widths = (self.inputs, *self.hidden)
        parts: list[tuple[str, tuple[int, ...]]] = []
        for i, (a, b) in enumerate(pairwise(widths)):
            parts += [(f"{i}.weight", (a, b)), (f"{i}.bias", (b,))]
        last = len(self.hidden)
        parts += [(f"{last}.weight", (self.outputs, widths[-1])), (f"{last}.bias", (self.outputs,))]
        if self.identities:
            parts.append(("identity", (self.identities, widths[1])))
        return parts

    @property
    def size(self) -> int:
        """Parameters of one member."""
        return sum(math.prod(shape) for _, shape in self.parts())


def views(shape: Shape, rows: Tensor) -> dict[str, Tensor]:
    """The parameters inside `rows` [n, K], by name, without copying."""
    found: dict[str, Tensor] = {}
    at = 0
    for name, dims in shape.parts():
        width = math.prod(dims)
        found[name] = rows[:, at : at + width].view(-1, *dims)
        at += width
    return found


def initial(shape: Shape, generator: torch.Generator, device: torch.device) -> Tensor:
    """One member's first parameters [K]: Xavier uniform with the gain of a ReLU for every layer, biases 0.01
    (as the widely used MADDPG code has it). Identity rows are inputs, so they are drawn as first weights."""
    row = torch.empty(1, shape.size, device=device)
    for name, part in views(shape, row).items():
        if name.endswith("bias"):
            part.fill_(0.01)
        else:
            fan_in, fan_out = part.shape[1:]
            if name in ("0.weight", "identity"):
                fan_in = shape.inputs + shape.identities
            bound = math.sqrt(2) * math.sqrt(6 / (fan_in + fan_out))
            part.uniform_(-bound, bound, generator=generator)
    return row[0]


class Net:
    """The parameters of n agents' networks inside rows [n, K] that somebody else owns; also used for gradients."""

    def __init__(self, shape: Shape, rows: Tensor):
        self.shape, self.rows = shape, rows
        parts = views(shape, rows)
        depth = len(shape.hidden)
        self.weights = [parts[f"{i}.weight"] for i in range(depth + 1)]
        self.biases = [parts[f"{i}.bias"] for i in range(depth + 1)]
        self.identity = parts.get("identity")
        self.bias_rows = [bias[:, None, :] for bias in self.biases[:-1]]
        self.bias_last = self.biases[-1][:, :, None]
        self.back_weights = [weight.transpose(1, 2) for weight in self.weights[:-1]]

    def __call__(self, x: Tensor) -> Tensor:
        """Inputs [n, B, inputs] to outputs [n, outputs, B], in new memory."""
        n, b, _ = x.shape
        return Pass(self.shape, n, b, x.device).forward(self, x)


class Pass:
    """Room for one pass of n networks over B inputs, forward and back. It is made once and used in every round:
    a large array that is allocated anew costs more in page faults than the product that fills it.

    `outputs` may be given, [n, outputs, B], where several passes write into one array."""

    def __init__(self, shape: Shape, n: int, b: int, device: torch.device, outputs: Tensor | None = None):
        self.shape = shape
        self.hidden = [torch.empty(n, b, width, device=device) for width in shape.hidden]
        self.deltas = [torch.empty(n, b, width, device=device) for width in shape.hidden]
        self.outputs = torch.empty(n, shape.outputs, b, device=device) if outputs is None else outputs
        self._hidden_t = [hidden.transpose(1, 2) for hidden in self.hidden]
        self._leaky = shape.activation == "leaky_relu"

    @property
    def sums(self) -> Tensor:
        """The first layer's sums [n, B, width], for callers of `rest` to fill."""
        return self.hidden[0]

    @property
    def delta(self) -> Tensor:
        """Gradient of the first layer's sums [n, B, width], after a pass back."""
        return self.deltas[0]

    def forward(self, net: Net, x: Tensor) -> Tensor:
        """Inputs [n, B, inputs] to outputs [n, outputs, B]."""
        torch.baddbmm(net.bias_rows[0], x, net.weights[0], out=self.hidden[0])
        return self.rest(net)

    def rest(self, net: Net) -> Tensor:
        """From the first layer's sums to outputs."""
        self._activate(self.hidden[0])
        for i in range(1, len(self.hidden)):
            torch.baddbmm(net.bias_rows[i], self.hidden[i - 1], net.weights[i], out=self.hidden[i])
            self._activate(self.hidden[i])
        return torch.baddbmm(net.bias_last, net.weights[-1], self._hidden_t[-1], out=self.outputs)

    def back(self, net: Net, gradient: Tensor, into: Net | None) -> None:
        """Gradient of the outputs [n, outputs, B] to `delta`. Parameter gradients of all layers but the first are
        written over those of `into`, unless it is None."""
        last = len(self.hidden) - 1
        if into is not None:
            torch.bmm(gradient, self.hidden[last], out=into.weights[-1])
            into.biases[-1].copy_(gradient.sum(2))
        if self.shape.outputs == 1:  # a product with one column is slower than writing it out
            torch.mul(gradient.transpose(1, 2), net.weights[-1], out=self.deltas[last])
        else:
            torch.bmm(gradient.transpose(1, 2), net.weights[-1], out=self.deltas[last])
        self._deactivate(last)
        for i in range(last, 0, -1):
            if into is not None:
                torch.bmm(self._hidden_t[i - 1], self.deltas[i], out=into.weights[i])
                into.biases[i].copy_(self.deltas[i].sum(1))
            torch.bmm(self.deltas[i], net.back_weights[i], out=self.deltas[i - 1])
            self._deactivate(i - 1)

    def back_all(self, net: Net, gradient: Tensor, x: Tensor, into: Net) -> None:
        """Gradient of the outputs to those of every parameter, given the inputs of the pass forward."""
        self.back(net, gradient, into)
        torch.bmm(x.transpose(1, 2), self.deltas[0], out=into.weights[0])
        into.biases[0].copy_(self.deltas[0].sum(1))

    def _activate(self, sums: Tensor) -> None:
        if self._leaky:
            torch.nn.functional.leaky_relu_(sums, LEAK)
        else:
            sums.relu_()

    def _deactivate(self, i: int) -> None:
        delta, hidden = self.deltas[i], self.hidden[i]
        if self._leaky:
            torch.ops.aten.leaky_relu_backward.grad_input(delta, hidden, LEAK, True, grad_input=delta)
        else:
            torch.ops.aten.threshold_backward.grad_input(delta, hidden, 0, grad_input=delta)


class Stack:
    """P members and the n agents that play them. `index[i]` is the member of agent i; None: agent i plays member
    i. Shared members are copied out to one row an agent before use, their gradients averaged over the agents, so
    that sharing is nothing but this index."""

    def __init__(self, shape: Shape, flat: Tensor, index: Sequence[int] | None = None):
        self.shape, self.flat = shape, flat
        self.index = None if index is None else torch.tensor(index, device=flat.device)
        if self.index is None:
            self.net = Net(shape, flat)
        else:
            self.net = Net(shape, flat.new_empty(len(self.index), shape.size))
            self._share = 1 / torch.bincount(self.index, minlength=len(flat)).to(flat.dtype)[:, None]
        self.refresh()

    def like(self) -> Stack:
        """A copy with its own parameters (a target, or a place for gradients)."""
        return Stack(self.shape, self.flat.clone(), None if self.index is None else self.index.tolist())

    def refresh(self) -> None:
        """Bring the agents' rows up to date; to be called after any change of `flat`."""
        if self.index is not None:
            torch.index_select(self.flat, 0, self.index, out=self.net.rows)
            if self.net.identity is not None:
                self.net.biases[0].add_(self.net.identity.diagonal(dim1=0, dim2=1).T)

    def collect(self) -> None:
        """For a stack of gradients: the mean over its agents of each member's gradient, into `flat`."""
        if self.index is not None:
            if self.net.identity is not None:
                self.net.identity.zero_().diagonal(dim1=0, dim2=1).copy_(self.net.biases[0].T)
            self.flat.zero_().index_add_(0, self.index, self.net.rows).mul_(self._share)


def clip(gradients: Tensor, largest: float) -> Tensor:
    """Scale each member's gradient [P, K] down to an L2 norm of at most `largest` (0: never), in place. Returns
    the norms before that, [P]."""
    norms = torch.linalg.vector_norm(gradients, dim=1)
    if largest > 0:
        gradients.mul_((largest / (norms + 1e-6)).clamp_(max=1.0)[:, None])
    return norms


class Adam:
    """Adam (torch's fused one, with its usual betas) over stacks, each with its stack of gradients."""

    def __init__(self, stacks: Sequence[Stack]):
        self.stacks = list(stacks)
        self.gradients = [stack.like() for stack in stacks]
        self._flat = [stack.flat for stack in stacks]
        self._gradients = [gradient.flat for gradient in self.gradients]
        self._means = [torch.zeros_like(flat) for flat in self._flat]
        self._squares = [torch.zeros_like(flat) for flat in self._flat]
        self._steps = [torch.zeros((), dtype=torch.float32, device=flat.device) for flat in self._flat]

    def step(self, lr: float, largest: float) -> list[Tensor]:
        """One step from the gradients written; returns their norms before clipping, [P] for each stack."""
        norms = []
        for gradient in self.gradients:
            gradient.collect()
            norms.append(clip(gradient.flat, largest))
        # the function, because torch.optim.Adam.step() around it takes longer than all the arithmetic
        adam(
            *(self._flat, self._gradients, self._means, self._squares, [], self._steps),
            lr=lr,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
            fused=True,
        )
        for stack in self.stacks:
            stack.refresh()
        return norms

    def state(self, name: str) -> dict[str, Tensor]:
        """Moments and step counts by name; they belong to this object."""
        found: dict[str, Tensor] = {}
        for i, (mean, square, step) in enumerate(zip(self._means, self._squares, self._steps, strict=True)):
            found |= {f"{name}/{i}/mean": mean, f"{name}/{i}/square": square, f"{name}/{i}/step": step}
        return found


def polyak(targets: Sequence[Stack], stacks: Sequence[Stack], tau: float) -> None:
    """target += tau (network - target), for every parameter."""
    torch._foreach_lerp_([t.flat for t in targets], [s.flat for s in stacks], tau)
    for target in targets:
        target.refresh()

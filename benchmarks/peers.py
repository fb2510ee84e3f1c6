"""The peers' side of the speed benchmark: their published packages, driven by their public interface.

`speed.py` starts this script, once for each peer, with the interpreter that has the peer installed. Each peer gets
what suits it: actions drawn beforehand, all cores, a batch size of its own, and its batches never count a reset
unless the peer resets by itself.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import measure
from measure import Chunk, timed


def mpe2_parallel(with_reset: bool = False) -> Chunk:
    """mpe2 simple_tag_v3 (4 agents), Parallel API."""
    import loops
    from mpe2 import simple_tag_v3

    return loops.parallel_steps(simple_tag_v3.parallel_env(), with_reset)


def mpe2_aec() -> Chunk:
    """mpe2 simple_tag_v3 (4 agents), AEC API."""
    import loops
    from mpe2 import simple_tag_v3

    return loops.aec_cycles(simple_tag_v3.env())


def vmas(scenario: str, num_envs: int) -> Chunk:
    """A scenario of VMAS with its defaults (continuous actions, the faster kind there), on all cores."""
    import torch
    from vmas import make_env

    torch.set_num_threads(measure.cores())
    env = make_env(scenario, num_envs=num_envs, device="cpu", seed=0)
    plans = [env.get_random_actions() for _ in range(5)]
    at = 0

    def work() -> None:
        nonlocal at
        env.step(plans[at])
        at = (at + 1) % len(plans)

    return timed(work, num_envs)


def jaxmarl(num_envs: int, steps: int = 25) -> Chunk:
    """JaxMARL MPE_simple_tag_v3: `steps` steps of a batch in one compiled scan.

    What a step returns is carried along, or the compiler would leave out the work that makes it.
    """
    import jax
    import jaxmarl as package

    env: Any = package.make("MPE_simple_tag_v3")
    key = jax.random.PRNGKey(0)
    actions = {agent: jax.random.randint(key, (steps, num_envs), 0, env.action_space(agent).n) for agent in env.agents}
    reset, step = jax.jit(jax.vmap(env.reset)), jax.vmap(env.step)

    def body(carry, action):
        key, now = jax.random.split(carry[0])
        return (key, *step(jax.random.split(now, num_envs), carry[2], action)), None

    @jax.jit
    def run(carry, actions):
        return jax.lax.scan(body, carry, actions)[0]

    observations, state = reset(jax.random.split(key, num_envs))
    carry = jax.jit(body)((key, observations, state), jax.tree.map(lambda plan: plan[0], actions))[0]

    def work() -> None:
        nonlocal carry
        carry = jax.block_until_ready(run(carry, actions))

    return timed(work, steps * num_envs)


def versions(packages: list[str]) -> dict[str, str]:
    """Installed versions; an error names the first package that is missing or does not import."""
    for package in packages:
        __import__(package)
    return {package: version(package) for package in packages}


if __name__ == "__main__":
    measure.serve(
        {"mpe2_parallel": mpe2_parallel, "mpe2_aec": mpe2_aec, "vmas": vmas, "jaxmarl": jaxmarl},
        {"versions": versions},
    )

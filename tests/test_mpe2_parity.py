"""One step of physics against mpe2's own world, by transplanting random states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpe2._mpe_utils.core import Agent, World
from mpe2._mpe_utils.scenario import BaseScenario
from mpe2._mpe_utils.simple_env import SimpleEnv

from mpe_ext import simple_tag_while_c_v0 as tag

STATES = 10_000  # of the default bodies; a quarter of them for the others
FAR = 3.0

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "readme": {},
    "v1_0_3": {"preset": "v1_0_3"},
    "continuous": {"continuous_actions": True},
    "team-223": {"num_adversaries": 2, "num_controller": 2, "num_collector_each": 3},
}


class BodiesOnly(BaseScenario):
    """An mpe2 scenario that has our bodies and no rules."""

    def __init__(self, names: list[str], params: Any) -> None:
        self.names = names
        self.params = params

    def make_world(self) -> World:
        world = World()
        for name in self.names:
            kind = name.split("_")[0]
            agent = Agent()
            agent.name = name
            agent.silent = True
            agent.size = getattr(self.params, f"{kind}_size")
            agent.accel = getattr(self.params, f"{kind}_accel")
            agent.max_speed = getattr(self.params, f"{kind}_max_speed")
            world.agents.append(agent)
        self.reset_world(world, None)
        return world

    def reset_world(self, world: World, np_random: Any) -> None:
        for agent in world.agents:
            agent.state.p_pos = np.zeros(2)
            agent.state.p_vel = np.zeros(2)

    def observation(self, agent: Agent, world: World) -> np.ndarray:
        return agent.state.p_pos

    def reward(self, agent: Agent, world: World) -> float:
        return 0.0


def random_states(rng: np.random.Generator, count: int, bodies: int) -> tuple[np.ndarray, ...]:
    """Positions and velocities [count, bodies, 2]: spread out, in a crowd, or nearly coincident."""
    spread = rng.choice([FAR, 0.3, 0.1, 0.01], size=(count, 1, 1))
    centre = rng.uniform(-1, 1, (count, 1, 2))
    positions = centre + spread * rng.uniform(-1, 1, (count, bodies, 2))
    speed = rng.choice([0.0, 0.5, 2.0], size=(count, bodies, 1))
    velocities = speed * rng.uniform(-1, 1, (count, bodies, 2))
    return positions, velocities


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_one_step_of_physics_is_mpe2s(name: str) -> None:
    configuration = CONFIGURATIONS[name]
    states = STATES if name == "readme" else STATES // 4
    venv = tag.vector_env(num_envs=states, autoreset_mode="disabled", **configuration)
    venv.reset(seed=0)
    agents = list(venv.possible_agents)
    rng = np.random.default_rng(3)
    positions, velocities = random_states(rng, states, len(agents))
    venv.restore(venv.snapshot() | {"pos": positions, "vel": velocities})
    continuous = venv.game.params.continuous_actions
    if continuous:
        actions = {agent: rng.random((states, 5)).astype(np.float32) for agent in agents}
    else:
        actions = {agent: rng.integers(0, 5, states) for agent in agents}
    venv.step(actions)
    after = venv.snapshot()

    scenario = BodiesOnly(agents, venv.game.params)
    world = scenario.make_world()
    mpe2 = SimpleEnv(scenario, world, max_cycles=25, continuous_actions=continuous)
    expected_positions, expected_velocities = np.empty_like(positions), np.empty_like(velocities)
    for w in range(states):
        for i, agent in enumerate(world.agents):
            agent.state.p_pos = positions[w, i].copy()
            agent.state.p_vel = velocities[w, i].copy()
            action = actions[agents[i]][w]
            mpe2._set_action([action if continuous else int(action)], agent, mpe2.action_space(agent.name))
        world.step()
        for i, agent in enumerate(world.agents):
            expected_positions[w, i] = agent.state.p_pos
            expected_velocities[w, i] = agent.state.p_vel
    # Parity proves little unless many bodies have been pushed.
    gaps = np.linalg.norm(positions[:, 0] - positions[:, 1], axis=1)
    assert (gaps < 0.1).mean() > 0.3
    np.testing.assert_allclose(after["pos"], expected_positions, rtol=0, atol=1e-9)
    np.testing.assert_allclose(after["vel"], expected_velocities, rtol=0, atol=1e-9)
    venv.close()

"""Every environment of the package: the list that tests, docs and commands walk."""

MODULES = {
    "simple_tag_while_c_v0": "mpe_ext.simple_tag_while_c_v0",
    "chefworld_v0": "mpe_ext.chefworld_v0",
    "meeting_scheduling_v0": "mpe_ext.meeting_scheduling_v0",
}


def register_all() -> None:
    """Make the environments known to `pettingzoo.make` (PettingZoo >= 1.27; older ones have no registry)."""
    try:
        from pettingzoo import register
    except ImportError:
        return
    for name, module in MODULES.items():
        register("aec", f"mpe_ext/{name}", f"{module}:env")
        register("parallel", f"mpe_ext/{name}", f"{module}:parallel_env")

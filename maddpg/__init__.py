"""MADDPG for PettingZoo games: the reference trainer of `mpe_ext`.

Each file holds one idea: `config` the options, `worlds` many copies of a game, `task` what a learner has to
know of it, `learner` the networks and their updates, `train` the loop, `runs` the folder a run leaves behind,
`evaluate` the table, and `cli` the two commands.
"""

"""ChefWorld: a chef who knows which dish is wanted and an assistant who does not cook it together, in turns.

Yuan, Fu, Zhou, Yang & Zhu, "Emergence of theory of mind collaboration in multiagent systems" (2021, arXiv 2110.00121),
after an assistance game that is probably that of Malik et al. (2018, arXiv 1806.03820).

The module `mpe_ext.chefworld_v0` has the environments; the page docs/chefworld.md has the rules.
"""

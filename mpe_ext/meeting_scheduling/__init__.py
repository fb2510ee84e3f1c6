"""Meeting scheduling: two participants with private tables find a common free slot, or say that there is none.

Yuan, Fu, Zhou, Yang & Zhu, "Emergence of theory of mind collaboration in multiagent systems" (2021, arXiv 2110.00121).

The module `mpe_ext.meeting_scheduling_v0` has the environments; the page docs/meeting_scheduling.md has the rules.
"""

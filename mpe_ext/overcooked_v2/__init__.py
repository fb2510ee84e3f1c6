"""Overcooked-v2: cooks share a kitchen and carry out a program, after E-MAPP (Chang et al. 2022, arXiv 2212.02064).

The module `mpe_ext.overcooked_v2_v0` has the environments, `program` the language; the pages docs/overcooked_v2.md and
docs/overcooked_program.md have the rules.
"""

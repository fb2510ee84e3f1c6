"""Overcooked-v2: cooks share a kitchen and carry out a program. So far its program language (see `program`)."""

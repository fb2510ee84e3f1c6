"""Colours that the turn-based games share; the first ones are told apart by the colour-blind as well."""

GROUND = (243, 244, 246)
PAPER = (255, 255, 255)
BORDER = (196, 200, 208)
INK = (44, 46, 54)
FAINT = (106, 110, 121)
FIRST = (190, 77, 0)  # the first agent, and the second
SECOND = (0, 105, 190)
GOOD = (0, 128, 96)
BAD = (190, 30, 45)
BAR = (222, 225, 230)  # what a bar stands on
MARK = (255, 244, 204)  # behind what the audience should see

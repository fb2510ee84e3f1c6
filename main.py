"""Train: `python main.py` learns tag while collecting with MADDPG; `python main.py maddpg --help` lists the options."""

import sys

from maddpg.commands import train

if __name__ == "__main__":
    sys.exit(train())

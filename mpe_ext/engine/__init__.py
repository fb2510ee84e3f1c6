"""What all games share: declared games, compiled worlds, the PettingZoo faces, one canvas."""

"""The universal sentence encoder (multilingual, version 3): weights, network, and what it adds to e5's vectors."""

"""The windows in memory: every key with its estimates, as far back as memory allows."""

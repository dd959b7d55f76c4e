"""The windows in memory: every key with its estimates, for as long back as memory allows."""

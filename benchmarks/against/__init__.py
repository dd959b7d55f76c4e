"""Compares the speed of this checkout with that of another revision: python -m benchmarks against REV.

Both sides run the benchmarks of this checkout, each in a process of its own that imports its side's aomg. They take
turns round by round, old new, new old, old new, so that whatever slows the machine down for a while slows both. A
round of a case gives one ratio, the speed of the new side divided by that of the old one. Reported is the median of
the ratios, with an interval that contains the true median at least 95 times in 100.

What is compared may have moved its insides: cases use public names of aomg only.
"""

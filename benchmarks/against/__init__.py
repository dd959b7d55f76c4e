"""Compares the speed of this checkout with that of another revision: python -m benchmarks against REV.

Both sides run the benchmarks of this checkout, each in its own process that imports its side's aomg. They take turns
round by round, old new, new old, old new, so that a temporary slowdown of the machine affects both. Each round of a
case gives one ratio: the speed of the new side divided by that of the old side.

Two processes of the same code also differ, by the placement of their memory and compiled code: of six processes that
ran the default query 100K by 1K, one was 5 % slower all the time. So both sides are restarted after some rounds, and
each start gives one ratio, the median of its rounds. The report has the median over the starts, with an interval that
contains the true median at least 95 times in 100.

Cases use only public names of aomg, because the other revision may have other internal modules.
"""

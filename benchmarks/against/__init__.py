"""Compares the speed of this checkout with that of another revision: python -m benchmarks against REV.

Both sides run the benchmarks of this checkout, each in a process of its own that imports its side's aomg. They take
turns round by round, old new, new old, old new, so that whatever slows the machine down for a while slows both. A
round of a case gives one ratio, the speed of the new side divided by that of the old one.

Two processes of the same code differ, too, by where their memory and their compiled code happen to lie: of six
processes that ran the default query 100K by 1K, one was slower by 5 % for as long as it ran. So both sides are started
anew after some rounds, and each start gives one ratio, the median of its rounds. Reported is the median over the
starts, with an interval that contains the true median at least 95 times in 100.

What is compared may have moved its insides: cases use public names of aomg only.
"""

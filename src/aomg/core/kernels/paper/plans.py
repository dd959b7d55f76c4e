"""Names the words of a plan: which ranks of a closing sub-window its fine part keeps."""

# A plan is for a sub-window with a given number of events. Its fixed words are that number, the bytes of the fine part
# without its band, and the values of its top list. Then for each column of quantiles: the rank of its value, the ranks
# on either side whose distance gives the density, the probability between these (a double), and the first and last rank
# of its band. Then for each high quantile: its tail's depth, the number of samples, by how many positions they may
# rotate (0: the golden ratio decides), and where in the plan their ranks from the top begin, the largest first.
PLAN_COUNT, PLAN_ROOM, PLAN_TOP, PLAN_WORDS = range(4)
PLAN_RANK, PLAN_LOWER, PLAN_UPPER, PLAN_BETWEEN, PLAN_FIRST, PLAN_LAST, PLAN_QUANTILE = range(7)
PLAN_DEPTH, PLAN_SAMPLES, PLAN_TURN, PLAN_RANKS, PLAN_TAIL = range(5)
GOLDEN = 0.6180339887498949

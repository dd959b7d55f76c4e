"""Names the words of an operator's state, of a summary's head and of a row of results.

The state of an operator is one array of 64-bit words (`state`), so that a call from Python passes few arguments, and
one of counts (`cells`). Its first words are the registers named here. The rest are areas; the `AT_` registers hold
their offsets (`core.layout` builds the state).
"""

import numpy as np

# registers: what is fixed with the query
SUPERS_PER_DECADE, ZERO_SUPER, HALF_PLACES, DIGITS = 0, 1, 2, 3
PERIOD, SUB_WINDOWS, QUANTILES, THRESHOLDS = 4, 5, 6, 7
PARTIAL, BAND_Z, BAND_EXTRA, DEPTHS = 8, 9, 10, 11
GUARANTEE, BURST_EFFECT = 12, 13  # doubles, by their bits
LISTS_CODES, HAS_ENVELOPE = 14, 15  # whether summaries of few codes are lists
# registers: where the areas of the state begin
AT_PHI, AT_DEPTH, AT_THRESHOLD, AT_LEAD, AT_FIRST, AT_SLOTS = 16, 17, 18, 19, 20, 21
AT_TOTAL, AT_SUPER_TOTAL, AT_FINE, AT_ACTIVE = 23, 24, 25, 26
AT_FOLD, AT_EXTREME, EXTREME_ROOM, ENTERED, TURNED = 27, 28, 29, 30, 31
# registers: the open sub-window
FILLED, OPEN_NUMBER, REFUSED, OPEN_DOMAIN = 32, 33, 34, 35
NEGATIVE_FAR, NEGATIVE_NEAR, HAS_ZERO, POSITIVE_NEAR, POSITIVE_FAR = 36, 37, 38, 39, 40
OPEN_MINIMUM, OPEN_MAXIMUM = 41, 42  # sortable keys
# registers: the live summaries
LIVE_COUNT, LIVE_SUMMARIES, LIVE_WITH_REALS, ACTIVE, NEWEST_NUMBER = 43, 44, 45, 46, 47
RING_BEFORE, RING_OLDEST, RING_NEWEST, RING_END, LIVE_WITH_INTEGERS = 48, 49, 50, 51, 52
LAST_BURST, LAST_RELEASE, SCORE, FLAG = 53, 54, 55, 56
# registers: more areas (scratch of one call, places and decades of supers), and which of the two sides of AT_FOLD
# has the newest sub-window's rows; NEWEST_ROWS is two registers, how many rows each side has
AT_SCRATCH, AT_PLACE, AT_DECADE, ROWS_SIDE, NEWEST_ROWS = 57, 58, 59, 60, 61
# registers: areas of the list of codes that is being written or read (core.kernels.code_lists)
AT_PAIRS, AT_HEAD, AT_BAND = 63, 64, 65
# registers: how much the weight of the open sub-window exceeds its number of events; and two, how many events each side
# of AT_FOLD is of
SURPLUS, NEWEST_EVENTS = 66, 67
REGISTERS = 72
# what kinds of numbers a sub-window or a window holds
REALS, INTEGERS, BOTH, NOTHING = 0, 1, 2, 3
# not literals: Numba would compile a function once for each
ADD, SUBTRACT, YES, NO = np.int64(1), np.int64(-1), np.int64(1), np.int64(0)
NONE = np.int64(-(2**62))  # a register that says "there is none"
# words of a summary's head; then one per quantile (its code) and two per threshold, then the rows in bytes
HEAD_NUMBER, HEAD_COUNT, HEAD_MINIMUM, HEAD_MAXIMUM, HEAD_LENGTH, HEAD_ROWS, HEAD_FINE, HEAD_WORDS = range(8)
DOMAIN_SHIFT = 32  # beside the length
LENGTH_MASK = np.int64(0xFFFFFFFF)
CODE_MASK, CODE_SHIFT = np.int64(0xFFFFFFFF), 32  # a quantile's word: the lowest code it may have, and the highest
BOTH_CODES = np.int64((1 << 32) + 1)
# columns of a row of results: fixed part, then 4 per quantile, then 3 per threshold
OUT_NUMBER, OUT_COUNT, OUT_SUMMARIES, OUT_BURST, OUT_MINIMUM, OUT_MAXIMUM, OUT_SCORE, OUT_FIXED = range(8)
# methods of a row of results: indexes of result.METHODS. 6 is "sketch", which the core never answers with
METHOD_EXACT, METHOD_BAND, METHOD_ENVELOPE, METHOD_MEAN, METHOD_TOP_K, METHOD_SAMPLE_K = range(6)
METHOD_CERTIFIED = 7

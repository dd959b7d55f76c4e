"""Names the words of `level`, the array that Level 2 uses for the fine parts of the live summaries.

Queries without a fine part have no such array (None). `core.paper.level` builds it.
"""

# registers: what is fixed with the query
RESOLUTION, AS_PAPER, KEEPS_LISTS, KEEPS_BAND, TAILS, FIXED_WORDS = range(6)
PERIOD_EVENTS, TOP_K_BELOW, LOWEST_CODE, HIGHEST_CODE = range(6, 10)
# registers: number of empty live top lists, and when the stacks of extremes were last turned
WITHOUT_TOP, LEVEL_TURNED = range(10, 12)
# registers: where the areas begin
AT_COLUMN, AT_LIMIT, AT_DEPTH_SUM, AT_LIMBS, AT_SUM, AT_CODE_EXTREME, AT_BAND, AT_RANGE = range(12, 20)
AT_MERGED, MERGED_WIDTH, LEVEL_REGISTERS = range(20, 23)
# RESOLUTION: raw values, the codes that the dense part counts, or how many digits (4 to 6)
RAW, DENSE = -1, 0
# a column: which of the high quantiles it is or -1, 1 - phi (a double), live sub-windows of unknown density
COLUMN_HIGH, COLUMN_BEYOND, COLUMN_UNKNOWN, COLUMN_WIDTH = range(4)
# a threshold: its code, itself (a double), live events in codes below its code, and in it
LIMIT_CODE, LIMIT_VALUE, LIMIT_UNDER, LIMIT_INSIDE, LIMIT_WIDTH = range(5)
# the band of each live summary (its slot): where in the ring it begins, and three cursors of a search
BAND_OFFSET, BAND_FIRST, BAND_END, BAND_SPLIT, BAND_WIDTH = range(5)

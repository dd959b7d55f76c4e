"""Names the words of `level`, the array that Level 2 of raw values uses."""

# registers of Level 2 for raw values (the array `level`), then where its areas begin
AS_PAPER, KEEPS_LISTS, WITHOUT_TOP, AT_COLUMN, AT_DEPTH_SUM, AT_LIMBS, AT_SUM, AT_RAW_EXTREME = range(8)
AT_MERGED, MERGED_WIDTH, LEVEL_REGISTERS = range(8, 11)
# a column: which of the high quantiles it is or -1, whether top-k may answer, live sub-windows of unknown density
COLUMN_HIGH, COLUMN_TOP_K, COLUMN_UNKNOWN, COLUMN_WIDTH = range(4)

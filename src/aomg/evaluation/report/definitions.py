"""Definitions of the terms in the tables, for the report and the pages."""

METHODS = (
    (
        "window and period",
        "Only full windows of N events count; one ends with every period of P events, as in the paper. 128K/16K is a "
        "window of 131,072 events and a period of 16,384; 100K/1K is 100,000 and 1,000. If a small period gives "
        "thousands of windows, every n-th is compared with the exact answer.",
    ),
    (
        "exact quantile",
        "The ceil(phi N)-th smallest raw value of the window, with phi as an exact fraction.",
    ),
    (
        "value error",
        "|answer - exact| / |exact|, in percent: the mean over all compared windows, or the worst if stated. "
        "A window whose exact quantile is zero has no relative error and is left out.",
    ),
    (
        "rank error",
        "The distance from the requested rank to the ranks that the answer occupies in the window, or would occupy, "
        "divided by N. So ties do not count as errors.",
    ),
    (
        "space",
        "Variables, as in the paper: the numbers that a policy or an operator stores just before a sub-window closes, "
        "at most over the run (for an operator, over 128 of its sub-windows if there are more). A separate column has "
        "the analytical bound. Bytes are the size of the state at the end of the run, just before a sub-window would "
        "close.",
    ),
    (
        "speed",
        "Million events per second on one thread. Contenders take turns on the same values; the first window and the "
        "generation of values are not timed; the best turn counts. Compare speeds only within a table: the paper's "
        "are from another machine.",
    ),
    (
        "AOMG (paper) and AOMG (default)",
        "The first is the algorithm as the paper ran it: raw values, the plain mean over sub-windows, few-k merging "
        "if a table says so. The second is the default of this package: three significant digits, the envelope and "
        "the band, and an interval around every answer that is guaranteed to contain the exact quantile.",
    ),
    (
        "streams",
        "The paper's data are not public. The streams here match every figure that the paper prints about its data; "
        "their tails beyond that are our choice. Errors compare policies on these streams.",
    ),
)

"""How the evaluation measures: the words that its tables use, each with its definition. Shown in report and pages."""

METHODS = (
    (
        "window and period",
        "Windows are full ones only, of N events, and a new one ends with every period of P events, as in the paper: "
        "128K/16K is a window of 131,072 events and a period of 16,384; 100K/1K is 100,000 and 1,000. Where a small "
        "period makes thousands of windows, every n-th is compared with the exact answer.",
    ),
    (
        "exact quantile",
        "The ceil(phi N)-th smallest raw value of the window, with phi as a fraction, whatever a policy rounds.",
    ),
    (
        "value error",
        "|answer - exact| / |exact|, in percent: the mean over all compared windows, and the worst where it says so. "
        "A window whose exact quantile is zero has no relative error, and is left out.",
    ),
    (
        "rank error",
        "The distance from the asked rank to the ranks that the answer occupies in the window, or would occupy, "
        "divided by N. A value that fills many ranks is not wrong for that.",
    ),
    (
        "space",
        "Variables, as the paper counts them: the numbers that a policy or an operator keeps just before a sub-window "
        "closes, the most over the run (of an operator, over 128 of its sub-windows if there are more); in a column of "
        "its own the number that its analysis promises. Bytes are what the state takes in memory at the end of the "
        "run, just before a sub-window would close.",
    ),
    (
        "speed",
        "Million events a second of one thread. Contenders take turns on the same values; the first window and the "
        "generation of values are not timed; the best turn counts. Speeds of one table are to be compared with each "
        "other: those of the paper are from another machine.",
    ),
    (
        "AOMG (paper) and AOMG (default)",
        "The first is the algorithm as the paper ran it: raw values, the plain mean over sub-windows, few-k merging "
        "where a table says so. The second is what the package does unless told: three significant digits, the "
        "envelope and the band, and an interval around every answer that surely holds the exact quantile.",
    ),
    (
        "streams",
        "The paper's data are not public. The streams here agree with every figure that the paper prints of its data, "
        "and their tails beyond that are ours. Errors compare policies on these streams.",
    ),
)

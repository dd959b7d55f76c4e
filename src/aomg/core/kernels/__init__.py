"""The compiled loops of the core, one concept per file.

A file imports only from those above it in this list, so that there are no cycles::

    registers  sortable  lanes      names of words, sortable keys, vectors of counts
    codes      ranks     rows       value <-> code, rank of a quantile, rows of counts <-> bytes
    counting   folds     totals     Level 1 counts, bucket totals, sliding totals of Level 2
    closing    extremes  pairs      close a sub-window, extremes of the window, ordered lists
    exceedances          bursts     compare the largest events of two sub-windows, compare their tails
    ring                 answering  live summaries, a window's result
    soundness  paper/               checks of foreign bytes, the fine part of summaries
    steps      tallies              the step of a sliding window, mergeable counts
    keys       sums                 many keys at once, summaries added up
"""

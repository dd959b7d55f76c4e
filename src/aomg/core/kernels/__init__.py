"""The compiled loops of the core, one concept per file.

A file imports only from those above it in this list, so that there are no cycles::

    registers  sortable  lanes          names of words, sortable keys, vectors of counts
    checksums                           CRC-32 of stored summaries
    varints    heads                    numbers <-> bytes, the head of a summary
    codes      arrivals                 value <-> code, event -> sub-window by its time
    ranks      rows      counting       rank of a quantile, rows of counts <-> bytes, Level 1 counts
    folds      active_supers            bucket totals, supers with live counts
    code_lists totals    exceedances    summaries of few codes, sliding totals of Level 2, the largest events of two
    closing    extremes  pairs  bursts  close a sub-window, extremes of the window, ordered lists, compare two tails
    ring       answering                live summaries, a window's result
    soundness  paper/                   checks of foreign bytes, the fine part of summaries
    steps      tallies                  the step of a sliding window, mergeable counts
    keys       sums                     many keys at once, summaries added up
"""

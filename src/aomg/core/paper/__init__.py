"""Paper mode: raw values, means, few-k lists (top-k and sample-k), Theorem 1."""

"""The paper's own mode: raw values, means, few-k lists (top-k and sample-k), Theorem 1."""

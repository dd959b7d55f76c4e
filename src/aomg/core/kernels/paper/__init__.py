"""Compiled loops for raw values without an envelope, as the paper runs them: sorted sub-windows, means, few-k lists."""

"""Compiled loops for fine parts: values at the query's own resolution, means, few-k lists, the fine band."""

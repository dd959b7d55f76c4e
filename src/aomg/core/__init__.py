"""The algorithm: NumPy and Numba only. No I/O, no clock, no Spark, no logging."""

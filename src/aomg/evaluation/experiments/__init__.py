"""The experiments: one file for each table or figure of the paper, and for each question that we add."""

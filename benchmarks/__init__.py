"""One file for each question. Rivals take turns in one run, and a figure is a ratio of their times."""

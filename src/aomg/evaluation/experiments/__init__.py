"""The experiments: one file per table or figure of the paper, and per question of our own."""

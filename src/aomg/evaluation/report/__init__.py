"""What an evaluation writes: the terminal, one HTML file, Markdown pages, plots, claims and losses."""

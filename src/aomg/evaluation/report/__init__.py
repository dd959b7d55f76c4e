"""Reports of an evaluation: terminal, HTML, Markdown pages, plots, claims and losses."""

"""The data of each view of the page, as JSON or CSV."""

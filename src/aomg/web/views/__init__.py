"""What each view of the page shows, as JSON or CSV."""

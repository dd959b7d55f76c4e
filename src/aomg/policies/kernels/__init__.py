"""The compiled loops of the policies, one file for each family."""

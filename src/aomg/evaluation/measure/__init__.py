"""What is measured and on what: errors, space and speed of the contenders, the sources of values, the machine."""

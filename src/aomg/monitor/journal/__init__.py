"""The journal: what each micro-batch read and wrote, what the next one starts from, and how it is checked."""

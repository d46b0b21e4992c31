"""Rules for Python, one family a file."""

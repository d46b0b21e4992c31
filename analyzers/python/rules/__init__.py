"""What to look for in Python, one family of rules a file; none knows another."""

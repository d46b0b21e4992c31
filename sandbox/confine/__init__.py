"""One kernel facility a file; siblings are strangers."""

"""Reading text by tree-sitter, and mending what is nearly a program; for languages without a parser at hand."""

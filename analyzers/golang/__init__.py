"""Rules for Go, read by tree-sitter: whole files, snippets without package or imports, and broken text."""

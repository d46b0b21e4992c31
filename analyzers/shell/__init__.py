"""Rules for bash and sh, read by tree-sitter: whole scripts, single commands, and broken text."""

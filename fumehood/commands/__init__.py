"""The commands of ``fumehood``, one a module; each imports only what it needs."""

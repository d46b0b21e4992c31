"""The service around the engine and the analyser: HTTP, command line, settings."""

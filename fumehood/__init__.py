"""The service around the engine and the analyser: HTTP, command line, settings."""

__version__ = "0.1.0"

"""What runs inside the wall: standard library only, importable alone under ``python -I -S``."""

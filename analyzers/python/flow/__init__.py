"""What flows from outside to where it decides something. Followed only where a text has both."""

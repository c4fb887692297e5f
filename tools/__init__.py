"""What makes the documentation and a release; nothing here is installed."""

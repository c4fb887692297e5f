"""How work is run: tasks in threads or on a cluster, finished ones on disk."""

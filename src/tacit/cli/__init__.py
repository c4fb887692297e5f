"""The command line; every command is a module of its own, imported when it is called."""

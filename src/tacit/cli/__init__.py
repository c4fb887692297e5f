"""The command line; each command is a module, imported when the command is called."""

"""Fitted state as arrays, arrays as files, files as model folders."""

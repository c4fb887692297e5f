"""Model folders: fitted state is packed into arrays, and arrays are stored in files."""

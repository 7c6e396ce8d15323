"""The daemon's HTTP face on its Unix socket, and the small client that the commands use."""

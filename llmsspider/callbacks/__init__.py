"""What the spider `docs` asks for, and what it makes of the answers; one responsibility a module."""

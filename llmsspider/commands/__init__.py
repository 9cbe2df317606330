"""Commands of the project; `COMMANDS_MODULE` points here."""

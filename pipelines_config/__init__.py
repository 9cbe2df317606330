"""Named pipeline configurations (profiles), as TOML files beside this one."""

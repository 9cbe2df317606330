"""Item pipelines, one stage each: filter, hash, export."""

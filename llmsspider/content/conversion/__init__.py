"""Conversion of response bodies to picklable `Page` objects, in worker processes; a failure is a `ConversionError`."""

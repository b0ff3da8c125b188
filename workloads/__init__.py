"""Prompts and the embedded model."""

"""Results in, documents out."""

"""Evidence: what one scenario produced, on disk before anything judges it."""

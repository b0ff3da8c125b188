"""The pocket model: a small trained hybrid model and the problems that it solves."""

"""The engine's operators, called one by one without a model: cases, references, a child process."""

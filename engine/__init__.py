"""The one room for vLLM: child processes, their protocol, and what runs inside them."""

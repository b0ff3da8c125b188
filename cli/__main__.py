"""`python -m linattn_verify.cli`."""

from linattn_verify.cli.main import entry

entry()

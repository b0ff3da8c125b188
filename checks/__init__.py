"""Pure judgement: traces in, typed results out. Knows no engine."""

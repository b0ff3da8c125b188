"""What Python processes started by the engine run first."""

"""What is asked: profiles, requests and plans, validated when they are built."""

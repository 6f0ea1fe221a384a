"""What a text claims: its claims, their words and values, and what they share with other texts."""

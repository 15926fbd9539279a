"""Whether designs keep their word: findings where there is nothing, and power as it was planned."""

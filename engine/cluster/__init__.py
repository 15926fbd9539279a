"""Far hands: live calls that leave from workers of a Ray cluster. Stories, money, limits and the file stay at home."""

"""The honest end of an evolution: champion and best seed prompt on problems that chose neither of them."""

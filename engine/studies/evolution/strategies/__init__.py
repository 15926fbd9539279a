"""How a search goes on from one generation to the next: genetic, reflective, random, GEPA."""

"""Branches: talks of a batch gone on with from one turn, the turn drawn again or said otherwise."""

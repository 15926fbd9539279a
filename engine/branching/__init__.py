"""Branches (counterfactual replay): continue conversations from one turn, resampling or replacing that message."""

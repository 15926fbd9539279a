"""Typical mistakes in configs, written down before what answers them."""

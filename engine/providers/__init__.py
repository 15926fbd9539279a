"""The provider interface, and its shared parts: SDK connections, errors, keys, prices, rate limit headers."""

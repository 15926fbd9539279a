"""What the engine asks of a provider, and what all of them share: SDK connections, errors, keys, prices, rate headers."""

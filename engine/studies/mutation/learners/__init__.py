"""Who learns which rewriting helps: bandit, PPO, chance; and the policies they leave."""

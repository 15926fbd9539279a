"""What lies over a mode and asks one thing: forms, choices, confirmations, help."""

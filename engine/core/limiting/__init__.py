"""What an account may do at a time: places, rates, and how an outage is waited for."""

"""Power before purchase: how sure a planned study will be, and what it takes to be surer."""

"""Scripts that run in processes of their own, code in them that is not Tidepool's. They import nothing of Tidepool."""

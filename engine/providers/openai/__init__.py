"""OpenAI and every server that speaks like it: live calls and batches."""

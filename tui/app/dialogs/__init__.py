"""Dialogs over the screens: forms, choices, confirmations, help."""

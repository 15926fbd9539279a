"""Crashes of every kind in every act that writes: kill -9, a full disk, a wrong clock, a process that stands still."""

"""A local HTTP server that speaks as OpenAI, Anthropic and Ollama do, with faults on demand.

It shares no code with the engine's providers: what was bought is counted here, independent of Tidepool.
"""

from .faults import Faults
from .remote import RemoteEmulator
from .server import Emulator

__all__ = ["Emulator", "Faults", "RemoteEmulator"]

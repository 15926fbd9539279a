"""Hand coding: a blinded sample of a batch, what people say of it, how well they agree, and the rates that follow."""

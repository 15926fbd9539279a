"""`python -m tidepool` is the command `tidepool`."""

import sys

from tidepool.tui.command.main import main

sys.exit(main())

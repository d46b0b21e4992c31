"""``python -m fumehood``."""

import sys

from fumehood.cli import main

sys.exit(main())

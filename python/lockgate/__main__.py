"""`python -m lockgate`: the command."""

import sys

from ._command import main

sys.argv[0] = "lockgate"
sys.exit(main())

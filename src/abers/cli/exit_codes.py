"""Exit codes: 0 fine, 1 failed, 2 wrong use, 3 the rule does not hold."""

import signal

FINE, FAILED, WRONG_USE, CHECK_FAILED = range(4)
INTERRUPTED, TERMINATED = (128 + number for number in (signal.SIGINT, signal.SIGTERM))

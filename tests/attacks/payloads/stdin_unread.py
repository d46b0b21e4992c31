# aim: never read a long standard input
# wall: writing to the guest never blocks the service
# expect: ok
# stdin: 8000000

import time

time.sleep(0.3)

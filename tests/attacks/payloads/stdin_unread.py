# aim: never read a long standard input
# expect: ok
# stdin: 8000000
# wall: verdict: writing to the guest never blocks the service
# control: none, it is our supervision that is tried

import time

time.sleep(0.3)

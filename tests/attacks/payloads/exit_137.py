# aim: look like a kill
# wall: the raw wait status
# expect: error
# exit: 137

import os

os._exit(137)

# aim: look like a kill
# expect: error
# exit: 137
# wall: verdict: the raw wait status
# control: none, there is only the verdict

import os

os._exit(137)

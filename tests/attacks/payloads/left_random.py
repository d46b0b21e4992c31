# aim: draw what an earlier run has drawn, or what it has left the generators at
# wall: fresh: every generator is seeded anew for each run
# expect: ok
# times: 2
# differs:
# control: twice

import os
import random
import secrets
import uuid

if random.getstate() == random.Random(7).getstate():
    print("ESCAPED")
for number in (random.random(), random.getrandbits(64), secrets.token_hex(8), uuid.uuid4().hex, os.urandom(8).hex()):
    print(number)
random.seed(7)

# aim: compute without end in one call of C
# wall: wall clock outside
# expect: timeout
# limits: wall_seconds=1
# hits: wall

str(7 ** (10**8)) if hasattr(__import__("sys"), "no") else pow(3, 10**9)

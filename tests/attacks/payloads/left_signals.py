# aim: leave a handler, a mask or a timer for later programs
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

import signal

if signal.getsignal(signal.SIGUSR1) != signal.SIG_DFL or signal.pthread_sigmask(signal.SIG_BLOCK, ()):
    print("ESCAPED")
if signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0):
    print("ESCAPED: a timer")
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
signal.setitimer(signal.ITIMER_REAL, 60)

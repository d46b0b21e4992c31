# aim: leave settings for the next shell
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

[[ -n ${TRACE-} || $(type -t trace) == function || $(trap -p USR1) ]] && echo ESCAPED
[[ $(umask) == 0022 && $PWD == /workspace ]] || echo "ESCAPED: $(umask) $PWD"
export TRACE=1
trace() { :; }
trap : USR1
umask 077
cd /tmp || exit

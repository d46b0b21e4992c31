# aim: reach the host's loopback from a shell
# wall: net: a namespace with a loopback of its own
# expect: ok
# control: without net

(exec 3<>"/dev/tcp/127.0.0.1/$CANARY_PORT") 2>/dev/null && echo "ESCAPED: $CANARY_PORT"
exit 0

# aim: gain rights by setuid programs
# expect: ok
# wall: no_new_privs: and nosuid, and one uid
# control: none, three walls stand in one line

find / -xdev -perm /6000 -type f 2>/dev/null | head -20 | while read -r program; do
  case $program in
    *su) echo | timeout 1 "$program" -c id 2>&1 | grep -q 'uid=0' && echo "ESCAPED: $program" ;;
    *mount) timeout 1 "$program" -t tmpfs x /tmp >/dev/null 2>&1 && echo "ESCAPED: $program" ;;
  esac
done
timeout 1 unshare -r id 2>/dev/null && echo "ESCAPED: unshare"
exit 0

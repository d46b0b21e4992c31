# aim: break the collection by names
# expect: ok
# collect: **
# skipped: name
# wall: collection: names are bytes until they prove to be text
# control: without name-checks
# freed: failure

import os

for name in (
    b"a\nb",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"  ",
    b"-rf",
    b"\x1b[31m",
    b'"',
    b"\\",
    b"x" * 255,
    b"\xe2\x80\xae",
):
    open(name, "w").write("x")

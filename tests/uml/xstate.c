/*
 * For user-mode-linux on processors with more registers than its kernel knows (AMX: 11 KB of them).
 *
 * It sets the registers of its processes through ptrace(2), PTRACE_SETREGSET with NT_X86_XSTATE, from a buffer of a
 * size that was fixed when it was compiled, and the machine's kernel refuses every size but its own
 * (xstateregs_set, arch/x86/kernel/fpu/regset.c of Linux 6.18): then its first process dies at its first instruction.
 * Loaded before the C library (ld.so(8), LD_PRELOAD), this hands on what it sets with the rest as it is. What the
 * state's own header does not name is in its initial state, whatever stands there.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned char whole[1 << 16]; /* its stacks are small, and it sets registers from one thread */

static long set_state(pid_t pid, void *kind, struct iovec *given)
{
    struct iovec all = {whole, sizeof whole};

    if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, kind, &all) == 0 && all.iov_len > given->iov_len) {
        memcpy(whole, given->iov_base, given->iov_len);
        given = &all;
    }
    return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, kind, given);
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list words;

    va_start(words, request);
    pid_t pid = va_arg(words, pid_t);
    void *where = va_arg(words, void *);
    void *data = va_arg(words, void *);
    va_end(words);
    if (request == PTRACE_SETREGSET && where == (void *)NT_X86_XSTATE)
        return set_state(pid, where, data);
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        long word; /* the library returns what the kernel stores */

        return syscall(SYS_ptrace, request, pid, where, &word) < 0 ? -1 : word;
    }
    return syscall(SYS_ptrace, request, pid, where, data);
}

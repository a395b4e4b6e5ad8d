/* Takes the place of the system calls by which a process changes files: at one of them it kills the
   process or fails. Counts calls on regular files and folders only. A full disk lets files be
   removed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { COUNT, KILL_BEFORE, KILL_AFTER, FAIL_ONCE, FAIL_FROM_THEN_ON };
static long calls, target, failed;
static int mode, number;

void arm(long at, int what, int error) { calls = failed = 0; target = at; mode = what; number = error; }
long calls_made(void) { return calls; }
long calls_failed(void) { return failed; }

static int strikes(int frees) {
    calls++;
    if (mode == KILL_BEFORE && calls == target) kill(getpid(), SIGKILL);
    int fails = (mode == FAIL_ONCE && calls == target) ||
                (mode == FAIL_FROM_THEN_ON && calls >= target);
    if (frees && number == ENOSPC) fails = 0;
    failed += fails;
    return fails;
}
static void done(void) {
    if (mode == KILL_AFTER && calls == target) kill(getpid(), SIGKILL);
}
static int regular(int handle) {
    struct stat status;
    return fstat(handle, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

#define CALL(type, name, counted, frees, parameters, arguments)                 \
    type name parameters {                                                      \
        static type (*real) parameters;                                         \
        if (!real) real = (type (*) parameters)dlsym(RTLD_NEXT, #name);         \
        int here = target && (counted);                                         \
        if (here && strikes(frees)) { errno = number; return -1; }              \
        type result = real arguments;                                           \
        if (here) { int kept = errno; done(); errno = kept; }                   \
        return result;                                                          \
    }

CALL(ssize_t, write, regular(h), 0, (int h, const void *b, size_t n), (h, b, n))
CALL(ssize_t, pwrite, regular(h), 0, (int h, const void *b, size_t n, off_t o), (h, b, n, o))
CALL(ssize_t, pwrite64, regular(h), 0, (int h, const void *b, size_t n, off64_t o), (h, b, n, o))
CALL(int, fsync, regular(h), 0, (int h), (h))
CALL(int, fdatasync, regular(h), 0, (int h), (h))
CALL(int, ftruncate, regular(h), 0, (int h, off_t n), (h, n))
CALL(int, ftruncate64, regular(h), 0, (int h, off64_t n), (h, n))
CALL(int, fchmod, regular(h), 0, (int h, mode_t m), (h, m))
CALL(int, link, 1, 0, (const char *a, const char *b), (a, b))
CALL(int, unlink, 1, 1, (const char *a), (a))
CALL(int, rename, 1, 1, (const char *a, const char *b), (a, b))
CALL(int, mkdir, 1, 0, (const char *a, mode_t m), (a, m))

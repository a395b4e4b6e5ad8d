/* Takes the place of the system calls by which a process changes files: at one of them it kills the
   process or fails. Counts calls on regular files and folders only. A full disk lets files be
   removed, and takes half of what is written before it fails. */
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

#define CALL(type, name, counted, frees, parameters, arguments, half)           \
    type name parameters {                                                      \
        static type (*real) parameters;                                         \
        if (!real) real = (type (*) parameters)dlsym(RTLD_NEXT, #name);         \
        int here = target && (counted);                                         \
        if (here && strikes(frees)) {                                           \
            if (number == ENOSPC) (void)(half);                                 \
            errno = number;                                                     \
            return -1;                                                          \
        }                                                                       \
        type result = real arguments;                                           \
        if (here) { int kept = errno; done(); errno = kept; }                   \
        return result;                                                          \
    }

CALL(ssize_t, write, regular(h), 0, (int h, const void *b, size_t n), (h, b, n), real(h, b, n / 2))
CALL(ssize_t, pwrite, regular(h), 0, (int h, const void *b, size_t n, off_t o),
     (h, b, n, o), real(h, b, n / 2, o))
CALL(ssize_t, pwrite64, regular(h), 0, (int h, const void *b, size_t n, off64_t o),
     (h, b, n, o), real(h, b, n / 2, o))
CALL(int, fsync, regular(h), 0, (int h), (h), 0)
CALL(int, fdatasync, regular(h), 0, (int h), (h), 0)
CALL(int, ftruncate, regular(h), 0, (int h, off_t n), (h, n), 0)
CALL(int, ftruncate64, regular(h), 0, (int h, off64_t n), (h, n), 0)
CALL(int, fchmod, regular(h), 0, (int h, mode_t m), (h, m), 0)
CALL(int, link, 1, 0, (const char *a, const char *b), (a, b), 0)
CALL(int, unlink, 1, 1, (const char *a), (a), 0)
CALL(int, rename, 1, 1, (const char *a, const char *b), (a, b), 0)
CALL(int, mkdir, 1, 0, (const char *a, mode_t m), (a, m), 0)

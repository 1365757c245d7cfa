/**
 * The system calls that a sandbox may make. Our own list: what ordinary programs, compilers, language runtimes, databases
 * and debuggers use. What is in neither list does not exist for a sandbox (ENOSYS), so that libraries fall back to older
 * calls; what is in `refused` exists but is not for a sandbox (EPERM).
 *
 * Left out on purpose: `io_setup` and its family. The machine has one number of events for all users (fs.aio-max-nr), which
 * one sandbox could take; databases that ask for it go on without it.
 */
export const allowed = [
  // Files and folders
  "access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate fchdir",
  "fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync flock fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64",
  "lchown link linkat lseek lstat mkdir mkdirat mknod mknodat name_to_handle_at newfstatat open openat openat2 pread64 preadv preadv2",
  "pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv rename renameat renameat2 rmdir sendfile splice stat statfs",
  "statx symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev",
  "cachestat ioctl chroot",
  // Extended attributes
  "fgetxattr flistxattr fremovexattr fsetxattr getxattr lgetxattr listxattr llistxattr lremovexattr lsetxattr removexattr setxattr",
  "getxattrat listxattrat removexattrat setxattrat",
  // Memory
  "brk get_mempolicy madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock mlock2 mlockall mmap mprotect mremap",
  "mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_madvise process_mrelease remap_file_pages",
  "arch_prctl modify_ldt set_thread_area get_thread_area",
  // Processes and threads
  "execve execveat exit exit_group fork futex futex_requeue futex_wait futex_waitv futex_wake get_robust_list getcpu getpgid getpgrp",
  "getpid getppid getpriority getrlimit getrusage getsid gettid kill pause pidfd_open pidfd_send_signal prctl prlimit64",
  "process_vm_readv process_vm_writev ptrace restart_syscall rseq sched_get_priority_max sched_get_priority_min sched_getaffinity",
  "sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam",
  "sched_setscheduler sched_yield set_robust_list set_tid_address setpgid setpriority setrlimit setsid tgkill times tkill vfork wait4",
  "waitid ioprio_get ioprio_set getrandom seccomp",
  "landlock_add_rule landlock_create_ruleset landlock_restrict_self",
  // Users and capabilities
  "capget capset getegid geteuid getgid getgroups getresgid getresuid getuid setfsgid setfsuid setgid setgroups setregid setresgid",
  "setresuid setreuid setuid",
  // Signals and time
  "alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep rt_sigaction rt_sigpending rt_sigprocmask",
  "rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack signalfd signalfd4 time",
  "timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime",
  // Waiting for events
  "epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 fanotify_init fanotify_mark",
  "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch poll ppoll pselect6 select",
  // Pipes, sockets (which families: see socketFamilies) and System V
  "accept accept4 bind connect getpeername getsockname getsockopt listen pipe pipe2 recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto",
  "setsockopt shutdown socketpair",
  "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop",
  "shmat shmctl shmdt shmget",
  // The system
  "sysinfo uname",
].flatMap((line) => line.split(" "));

export const refused = [
  // New or other namespaces, other roots
  "mount umount2 mount_setattr move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick pivot_root setns unshare",
  // Keyrings belong to a user of the machine or of a namespace, not to a sandbox
  "add_key keyctl request_key",
  // The kernel itself
  "acct bpf delete_module finit_module init_module kexec_file_load kexec_load lookup_dcookie nfsservctl open_by_handle_at",
  "perf_event_open quotactl quotactl_fd reboot swapoff swapon syslog userfaultfd vhangup",
  "clock_adjtime clock_settime adjtimex settimeofday stime sethostname setdomainname iopl ioperm kcmp pidfd_getfd",
  "mbind migrate_pages move_pages set_mempolicy set_mempolicy_home_node",
].flatMap((line) => line.split(" "));

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Not AF_VSOCK, which reaches a virtual machine's host, nor the exotic ones. */
export const socketFamilies = [1, 2, 10, 16];

/** `CLONE_NEW…`: a thread or process may be cloned, a namespace may not. */
export const namespaceFlags = 0x7e02_0000;

/** Linux as it is; 32-bit names; uname of 2.6; no randomised addresses (debuggers); only ask. */
export const personalities = [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];

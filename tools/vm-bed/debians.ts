/** The stock machines that AgentBox is tried on: Debian's releases with their own kernel, systemd and pure cgroup v2. */

export interface Debian {
  readonly suite: "bookworm" | "trixie";
  readonly version: 12 | 13;
}

export const debians: readonly Debian[] = [
  { suite: "bookworm", version: 12 },
  { suite: "trixie", version: 13 },
];

/** What a stock server has, what `make up` would install, and what the suites run in a guest need. */
export const guestPackages: readonly string[] = [
  ..."systemd-sysv udev dbus linux-image-cloud-amd64 apparmor kmod procps sudo ca-certificates curl git make python3".split(" "),
  ..."runc nftables iproute2 tini gcc libc6-dev libsodium-dev e2fsprogs util-linux libseccomp2 libatomic1".split(" "),
  ..."busybox-static musl-tools".split(" "),
];

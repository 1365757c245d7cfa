/** What keeps sandboxes in: firewall, capabilities, system calls, limits, and images that want out. */
import { bugsIn, type Mutant } from "../mutant.ts";

export const isolationMutants: readonly Mutant[] = [
  bugsIn(
    "src/lib/public-address.ts",
    ["src/engines/embedded/node/network/ruleset.test.ts", "src/lib/public-address.test.ts"],
    [
      ["sandboxes reach the metadata service", '  "169.254.0.0/16",\n', ""],
      ["sandboxes reach private networks", '  "10.0.0.0/8",\n', ""],
      ["sandboxes reach the host of a virtual machine", '  "168.63.129.16/32",\n', ""],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/network/ruleset.ts",
    ["src/engines/embedded/node/network/ruleset.test.ts"],
    [
      ["sandboxes reach each other", "[...closedIpv4, addresses.subnet]", "closedIpv4"],
      ["sandboxes reach the machine", '    iifname "${bridge}" jump refuse\n  }\n${renderFromMachine', "  }\n${renderFromMachine"],
      ["every user of the machine reaches sandboxes", "    meta skuid != 0 jump refuse\n", ""],
      [
        "a sandbox fills the table of connections",
        '    iifname "${bridge}" ct state new add @asks { ip saddr ${tooMany(share)} } jump refuse\n',
        "",
      ],
      [
        "a sandbox is asked until the table of connections is full",
        "    ct state new add @asked { ip daddr ${tooMany(share)} } jump refuse\n",
        "",
      ],
      ["sandboxes are reached from outside", '    oifname "${bridge}" drop\n', ""],
      ["IPv6 goes past all rules", "    meta nfproto ipv6 jump refuse\n", ""],
      [
        "an allowed network opens private ones",
        "    ip daddr @closed jump to_closed\n    ip saddr . ip daddr @allowed accept",
        "    ip saddr . ip daddr @allowed accept\n    ip daddr @closed jump to_closed",
      ],
      ["a denied network is reached", "    ip saddr . ip daddr @denied jump refuse\n", ""],
      ["a sandbox without the Internet has it", "    ip saddr @offline jump refuse\n", ""],
      ["a sandbox speaks as another one", "@owners accept\n    drop", "@owners accept\n    accept"],
      ["resolvers in private networks are open at all ports", " meta l4proto { tcp, udp } th dport 53 return", " return"],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/network/former-connections.ts",
    ["src/engines/embedded/node/network/former-connections.test.ts"],
    [
      ["answers to a former tenant arrive at the next", "if (!this.#forgotten.delete(slot)) await", "if (false) await"],
      ["connections are forgotten while new ones may come to be", "if (await hasPort(slot)) continue;", ""],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/network/egress.ts",
    ["src/engines/embedded/node/network/egress.test.ts"],
    [
      ["a policy without the Internet keeps it", "offline: policy.internet ? [] : [ip]", "offline: []"],
      ["rules of the former policy stay", "if (gone.length > 0) lines.push", "if (false) lines.push"],
    ],
  ),
  bugsIn(
    "src/model/egress-policy.ts",
    ["src/model/egress-policy.test.ts", "src/engines/embedded/node/agent/agent-egress.test.ts"],
    [
      [
        "an answer to an old wish counts for a new one",
        'return condition?.status === "True" && condition.message === wish;',
        'return condition?.status === "True";',
      ],
      [
        "a pod whose last policy still holds is taken for open",
        "if (wish === undefined) return condition === undefined;",
        "if (wish === undefined) return true;",
      ],
      ["an unknown field of a policy is passed over", "if (unknown !== undefined) return invalid(", "if (false) return invalid("],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/runtime/spec/capabilities.ts",
    ["src/engines/embedded/node/runtime/spec/capabilities.test.ts"],
    [
      ["a sandbox may ask for any capability", "if (refused.length > 0) {", "if (false) {"],
      ["capabilities that are dropped stay", 'dropped.has("ALL") ? [] :', "false ? [] :"],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/runtime/spec/container-spec.ts",
    ["src/engines/embedded/node/runtime/spec/container-spec.test.ts"],
    [
      ["root inside is root outside", "hostID: input.firstUid, size", "hostID: 0, size"],
      ["setuid programs give more rights", "noNewPrivileges: !plan.security.allowPrivilegeEscalation,", "noNewPrivileges: false,"],
      ["sandboxes share the processes of the machine", '"mount", "pid", "ipc"', '"mount", "ipc"'],
      ["all system calls are open", "      seccomp: seccompProfile(input.machine),\n", ""],
      ["what tells of the machine is shown", "      maskedPaths: maskedPaths(input.disks),\n", "      maskedPaths: [],\n"],
      ["kernel settings can be written", "      readonlyPaths,\n", "      readonlyPaths: [],\n"],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/runtime/spec/seccomp.ts",
    ["src/engines/embedded/node/runtime/spec/seccomp.test.ts"],
    [
      ["unknown system calls are let through", 'defaultAction: "SCMP_ACT_ERRNO"', 'defaultAction: "SCMP_ACT_ALLOW"'],
      ["clone makes namespaces", "value: namespaceFlags, valueTwo: 0,", "value: 0, valueTwo: 0,"],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/runtime/spec/system-calls.ts",
    ["src/engines/embedded/node/runtime/spec/seccomp.test.ts"],
    [
      ["bpf is allowed", '  "sysinfo uname",\n', '  "sysinfo uname bpf",\n'],
      ["mount is allowed", '  "sysinfo uname",\n', '  "sysinfo uname mount",\n'],
      ["asynchronous I/O, whose contexts the machine shares, is allowed", '  "sysinfo uname",\n', '  "sysinfo uname io_setup",\n'],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/runtime/spec/resources.ts",
    ["src/engines/embedded/node/runtime/spec/resources.test.ts"],
    [
      ["a memory limit can be passed with swap", "...(countsSwap ? { swap: memory } : {})", "...{}"],
      ["devices are open", "allow: false", "allow: true"],
      ["a cpu limit is none", "...shares(cpuShare), ...quota(cpuLimit)", "...shares(cpuShare)"],
    ],
  ),
  bugsIn(
    "src/images/layer/layer-path.ts",
    ["src/images/layer/layer-path.test.ts", "src/images/layer/unpack-hostile.test.ts"],
    [
      ["a layer writes outside of its folder", 'if (part === "..") throw hostile(name, "leads out of its folder with ..");', ""],
      ["a layer writes to an absolute path", 'if (name.startsWith("/")) throw', "if (false) throw"],
      ["a whiteout hides the folder above", 'if (hidden === "" || hidden === "." || hidden === "..") throw', "if (false) throw"],
    ],
  ),
  bugsIn(
    "src/images/content-store/blob-writer.ts",
    ["src/images/content-store/content-store.test.ts"],
    [["content with another digest is stored", "if (promised !== undefined && digest !== promised) {", "if (false) {"]],
  ),
  bugsIn(
    "src/images/registry/outbound.ts",
    ["src/images/registry/outbound.test.ts"],
    [
      [
        "a registry sends the control plane to a private address",
        "const allowed = found.filter(({ address }) => this.#isPublic(address));",
        "const allowed = found;",
      ],
      [
        "an image names a private address",
        "if (isIP(address) !== 0 && !this.#isPublic(address)) return callback(refusedAddress(hostname), null);",
        "",
      ],
      ["a public registry leads to one that only the settings open", "if (!this.#isNamed(to) || this.#isNamed(from)) return;", "return;"],
      [
        "a registry names any token server",
        "if (server.hostname === registry.hostname || others.some((host) => host === server.host)) return;",
        "return;",
      ],
    ],
  ),
  bugsIn(
    "src/lib/lanes.ts",
    ["src/lib/lanes.test.ts", "src/engines/embedded/node/agent/agent-fairness.test.ts"],
    [["two teams together hold all places", "this.#taken.has(kept.unless) ? kept.count : 0", "0"]],
  ),
  bugsIn(
    "src/lib/lanes.ts",
    ["src/lib/lanes.test.ts", "src/kube/controller/work-queue.test.ts"],
    [
      [
        "looks at what is as it was hold up what requests wait for",
        'wanted: Rank = "usual"): boolean {\n',
        'asked: Rank = "usual"): boolean {\n    const wanted: Rank = asked === "first" ? "usual" : asked;\n',
      ],
      ["routine looks never have a turn", "=== turnsOfRanks - 1 ? lowestFirst : lower", "=== turnsOfRanks ? lowestFirst : lower"],
      [
        "what requests wait for leaves usual work no turn",
        "turn === usualTurn ? usualFirst : ranks",
        "turn === turnsOfRanks ? usualFirst : ranks",
      ],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/network/connection-shares.ts",
    ["src/engines/embedded/node/network/connection-shares.test.ts"],
    [
      [
        "sandboxes together fill the table of connections",
        "(entries - entriesOfMachine) / sandboxesOf(room) / 2",
        "(entries - entriesOfMachine) / 16",
      ],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/pods/machine-quotas.ts",
    ["src/engines/embedded/node/pods/machine-quotas.test.ts"],
    [
      ["sixteen sandboxes have all processes of the machine", '    { file: "/proc/sys/kernel/pid_max", atLeast: mostProcesses },\n', ""],
      ["a limit of the machine is lowered", "if (BigInt(before) >= BigInt(atLeast)) continue;", ""],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/linux/held-locks.ts",
    ["src/engines/embedded/node/linux/held-locks.test.ts"],
    [
      ["a thread hides locks in open files of its own", "=== 0;\n  } catch", ">= 0;\n  } catch"],
      ["locks count once for each thread", "=== 0;\n  } catch", "> 9;\n  } catch"],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/pods/lock-watch.ts",
    ["src/engines/embedded/node/pods/lock-watch.test.ts"],
    [
      ["a sandbox takes locks of files without end", 'if (held > mostLocks) return "over";', ""],
      ["locks of the machine's programs have all sandboxes looked through every second", "      this.#calm = count;\n", ""],
      ["a sandbox hides its locks behind many open files", 'return over.length > 0 ? over : those("unknown");', "return over;"],
      [
        "a sandbox with many open files is killed for the locks of another one",
        'return over.length > 0 ? over : those("unknown");',
        'return [...over, ...those("unknown")];',
      ],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/linux/host-deadline.ts",
    ["src/engines/embedded/node/linux/host-deadline.test.ts", "src/engines/embedded/node/linux/run-command.test.ts"],
    [
      ["a program of the machine may hang for ever", "if (now - seenAt >= quietMs)", "if (now < 0)"],
      ["a program of the machine may work for ever", "else if (now - started >= longestMs)", "else if (now < 0)"],
    ],
  ),
].flat();

import { allowed, namespaceFlags, personalities, refused, socketFamilies } from "./system-calls.ts";

/** As in the OCI runtime specification. */
export interface Seccomp {
  readonly defaultAction: string;
  readonly defaultErrnoRet: number;
  readonly architectures: readonly string[];
  readonly syscalls: readonly SeccompRule[];
}

export interface SeccompRule {
  readonly names: readonly string[];
  readonly action: string;
  readonly errnoRet?: number;
  readonly args?: readonly { readonly index: number; readonly value: number; readonly valueTwo?: number; readonly op: string }[];
}

const notThere = 38;
const notPermitted = 1;

/** One architecture only: every other one makes a container's start slower, and its programs are not in the image. */
const architectures: Readonly<Record<string, string>> = { x64: "SCMP_ARCH_X86_64", arm64: "SCMP_ARCH_AARCH64" };

export function seccompProfile(machine: string): Seccomp {
  const architecture = architectures[machine];
  if (architecture === undefined)
    throw new Error(`no list of system calls for ${machine}; there is one for ${Object.keys(architectures).join(", ")}`);
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    // A call that is not known here looks like one that the kernel does not know: libraries then use an older one.
    defaultErrnoRet: notThere,
    architectures: [architecture],
    syscalls: [
      { names: allowed, action: "SCMP_ACT_ALLOW" },
      { names: refused, action: "SCMP_ACT_ERRNO", errnoRet: notPermitted },
      ...socketFamilies.map((family) => allowIf("socket", family)),
      ...personalities.map((personality) => allowIf("personality", personality)),
      ...cloneRules(),
    ],
  };
}

function allowIf(name: string, value: number): SeccompRule {
  return { names: [name], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value, op: "SCMP_CMP_EQ" }] };
}

/** clone3 hides its flags in memory, where no filter can look; glibc goes back to clone when it is not there. */
function cloneRules(): SeccompRule[] {
  const newUser = 0x1000_0000;
  return [
    { names: ["clone"], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value: namespaceFlags, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }] },
    {
      names: ["clone"],
      action: "SCMP_ACT_ERRNO",
      errnoRet: notPermitted,
      args: [{ index: 0, value: newUser, valueTwo: newUser, op: "SCMP_CMP_MASKED_EQ" }],
    },
  ];
}

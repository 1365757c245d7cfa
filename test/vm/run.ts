/**
 * `make test-vm`: boots stock Debians in QEMU and runs in them what a newcomer runs, limits, parts of the isolation
 * suites, a power cut and a reboot with sandboxes in place, `down`, and AgentBox as a service that a reboot starts again.
 * Usage: node test/vm/run.ts [--suite bookworm|trixie] [--accel emulation|kvm] [--quick] [--only STEP,…] [--boots BOOT,…] [--keep]
 * `--quick` leaves out the isolation suites, which take most of the time. `--only` runs these steps, of the boots that `--boots` names (the first one).
 */
import { execFile } from "node:child_process";
import { appendFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { step as tellStep } from "../../tools/cluster/progress.ts";
import { type BaseDisk, baseDisk } from "../../tools/vm-bed/base-disk.ts";
import { type Debian, debians } from "../../tools/vm-bed/debians.ts";
import { type Accelerator, boot, isAccelerator } from "../../tools/vm-bed/machine.ts";
import { projectDisk } from "../../tools/vm-bed/project-disk.ts";
import { parseReportLine } from "../../tools/vm-bed/report.ts";

/** Each is one boot of the same disks. */
const phases = ["newcomer", "after-power-cut", "after-reboot", "as-service"] as const;
/** A guest that says nothing for so long hangs. Emulation is slow: single steps take minutes. */
const silenceMs = 15 * 60_000;

interface Outcome {
  readonly debian: Debian;
  readonly step: string;
  readonly result: "passed" | "failed" | "skipped";
  readonly about: string;
}

const { values } = parseArgs({
  options: {
    suite: { type: "string" },
    accel: { type: "string", default: "emulation" },
    quick: { type: "boolean" },
    only: { type: "string" },
    boots: { type: "string" },
    keep: { type: "boolean" },
  },
});
const chosen = debians.filter(({ suite }) => values.suite === undefined || suite === values.suite);
if (chosen.length === 0) {
  console.error(`test-vm: there is no suite ${values.suite}; there are: ${debians.map(({ suite }) => suite).join(", ")}`);
  process.exit(2);
}
const boots = values.boots?.split(",") ?? (values.only === undefined ? phases : phases.slice(0, 1));
const unknownBoot = boots.find((name) => !phases.some((phase) => phase === name));
if (unknownBoot !== undefined) {
  console.error(`test-vm: there is no boot ${unknownBoot}; there are: ${phases.join(", ")}`);
  process.exit(2);
}
const accelerator = accelerated(values.accel);
const say = (line: string): void => console.error(line);
const cache = process.env["AGENTBOX_CACHE"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "agentbox");
const folder = await mkdtemp(join(tmpdir(), "agentbox-vm-"));
const outcomes: Outcome[] = [];
try {
  const project = await tellStep(say, "Putting the project on a disk", () =>
    projectDisk({ project: fileURLToPath(new URL("../../", import.meta.url)), cache, folder }),
  );
  for (const debian of chosen) await tryDebian(debian, project);
} finally {
  if (values.keep === true) say(`Disks and logs are kept in ${folder}`);
  else await rm(folder, { recursive: true });
}
printTable();
for (const step of values.only?.split(",") ?? []) {
  // A wrong name would leave out everything, and look as if all were well.
  if (!outcomes.some((outcome) => outcome.step === step && outcome.result !== "skipped")) {
    console.error(`test-vm: no step ${step} was run`);
    process.exitCode = 2;
  }
}
const count = (result: Outcome["result"]): number => outcomes.filter((outcome) => outcome.result === result).length;
console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
if (count("failed") > 0 || count("passed") === 0) process.exitCode = 1;

function accelerated(text: string): Accelerator {
  if (isAccelerator(text)) return text;
  console.error(`test-vm: --accel is emulation or kvm, not ${text}`);
  process.exit(2);
}

async function tryDebian(debian: Debian, project: string): Promise<void> {
  say(`Debian ${debian.version} (${debian.suite})`);
  await mkdir(join(cache, "vm-bed"), { recursive: true });
  const base = await tellStep(say, "Its system disk (made once, some minutes)", () =>
    baseDisk(join(cache, "vm-bed"), debian, (line) => say(`    ${line}`)),
  );
  const disks = [join(folder, `${debian.suite}.img`), join(folder, `${debian.suite}-project.img`)];
  for (const [index, original] of [base.disk, project].entries()) await copyDisk(original, disks[index] ?? "");
  for (const phase of phases) {
    if (!boots.includes(phase)) continue;
    const complaint = await runPhase({ debian, base, disks, phase });
    if (complaint === undefined) continue;
    outcomes.push({ debian, step: phase, result: "failed", about: complaint });
    return;
  }
}

/** Disks are mostly holes, which stay holes. */
async function copyDisk(from: string, to: string): Promise<void> {
  await promisify(execFile)("cp", ["--sparse=always", from, to]);
}

interface Phase {
  readonly debian: Debian;
  readonly base: BaseDisk;
  readonly disks: readonly string[];
  readonly phase: (typeof phases)[number];
}

/** One boot. Answers with what went wrong with the machine itself, if anything did. */
async function runPhase({ debian, base, disks, phase }: Phase): Promise<string | undefined> {
  say(`  boot: ${phase}`);
  const log = join(folder, `${debian.suite}-${phase}.log`);
  let finished = false;
  let heard = Date.now();
  const record = (step: string, result: Outcome["result"], about: string): void => {
    outcomes.push({ debian, step, result, about });
    say(`    ${result}: ${step} (${about})`);
  };
  const machine = boot({
    accelerator,
    base,
    disks,
    phase,
    withSuites: values.quick !== true,
    only: values.only,
    console: join(folder, `${debian.suite}-${phase}-console.log`),
    onLine: (text) => {
      heard = Date.now();
      appendFileSync(log, `${text}\n`);
      const line = parseReportLine(text);
      if (line.kind === "passed" || line.kind === "failed") record(line.step, line.kind, `${line.seconds} s`);
      else if (line.kind === "skipped") record(line.step, "skipped", line.reason);
      else if (line.kind === "fact") say(`    ${line.text}`);
      else if (line.kind === "output") say(`      ${line.text}`);
      else if (line.kind === "wants-power-cut") {
        finished = true;
        machine.cutPower();
      } else if (line.kind === "finished") finished = true;
    },
  });
  let silent = false;
  const watch = setInterval(() => {
    if (Date.now() - heard < silenceMs) return;
    silent = true;
    machine.cutPower();
  }, 5000);
  const complaint = await machine.off;
  clearInterval(watch);
  if (silent) return `the machine said nothing for ${silenceMs / 60_000} minutes`;
  return complaint ?? (finished ? undefined : "the machine went off before its steps were done");
}

function printTable(): void {
  const width = Math.max(...outcomes.map((outcome) => outcome.step.length), 4);
  for (const { debian, step, result, about } of outcomes) {
    console.log(`Debian ${debian.version}  ${step.padEnd(width)}  ${result.padEnd(7)}  ${about}`);
  }
}

/**
 * Plants bugs, one at a time, and runs the tests that should notice: `make mutants`, `make mutants-sample`. docs/mutants.md explains it.
 * Usage: node test/mutants/run.ts [--only TEXT] [--sample N] [--seed TEXT] [--parallel N] [--check]
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { copyTree, root } from "./cage.ts";
import { judge, type Verdict } from "./judge.ts";
import { mutants } from "./mutants.ts";
import { type Mutant, planted, sampled } from "./mutant.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    sample: { type: "string" },
    seed: { type: "string" },
    parallel: { type: "string", default: "2" },
    check: { type: "boolean", default: false },
  },
});

checkList(mutants);
const chosen = choose();
if (values.check) console.log(`${mutants.length} bugs: each has its place in the code, once, and its tests`);
else process.exitCode = await run(chosen);

function choose(): readonly Mutant[] {
  const { only, sample, seed } = values;
  const named = mutants.filter(({ bug, file }) => only === undefined || `${file} ${bug}`.includes(only));
  if (named.length === 0) throw new Error(`no bug of the list has ${JSON.stringify(only)} in its file or its words`);
  return sample === undefined ? named : sampled(named, Number(sample), seed ?? commit());
}

/** Of another commit other bugs are tried. */
function commit(): string {
  return execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
}

/** All of it, whatever was chosen: a list that has lost its places protects nothing. */
function checkList(all: readonly Mutant[]): void {
  const faults = all.flatMap((mutant) => {
    const missing = mutant.tests.filter((test) => !existsSync(join(root, test))).map((test) => `${mutant.file}: there is no ${test}`);
    try {
      planted(mutant, readFileSync(join(root, mutant.file), "utf8"));
      return missing;
    } catch (error) {
      return [...missing, error instanceof Error ? error.message : String(error)];
    }
  });
  if (faults.length > 0) throw new Error(`test/mutants/list is out of date:\n${faults.join("\n")}`);
}

async function run(all: readonly Mutant[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-mutants-"));
  try {
    const trees = Array.from({ length: Number(values.parallel) }, (_, index) => join(folder, String(index + 1)));
    for (const tree of trees) {
      mkdirSync(tree);
      copyTree(tree);
    }
    const tests = [...new Set(all.flatMap((mutant) => mutant.tests))];
    console.log(`${all.length} of ${mutants.length} bugs; first their ${tests.length} test files without any`);
    const sound = await judge(trees[0] ?? "", tests, 900_000);
    if (sound.kind !== "survived") {
      console.log(`the tests fail without a bug (${sound.kind}):\n${sound.detail}`);
      return 1;
    }
    return tell(await plantAll(all, trees));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Outcome {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
}

async function plantAll(all: readonly Mutant[], trees: readonly string[]): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = [...all];
  await Promise.all(
    trees.map(async (tree) => {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const since = Date.now();
        const verdict = await plantOne(mutant, tree);
        outcomes.push({ mutant, verdict });
        const seconds = ((Date.now() - since) / 1000).toFixed(1);
        console.log(
          `${String(outcomes.length).padStart(3)}/${all.length} ${verdict.kind.padEnd(8)} ${seconds.padStart(5)} s  ${mutant.file}: ${mutant.bug}`,
        );
      }
    }),
  );
  return outcomes;
}

async function plantOne(mutant: Mutant, tree: string): Promise<Verdict> {
  const path = join(tree, mutant.file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, planted(mutant, source));
  try {
    return await judge(tree, mutant.tests, 90_000);
  } finally {
    writeFileSync(path, source);
  }
}

function tell(outcomes: readonly Outcome[]): number {
  const count = (kind: Verdict["kind"]): number => outcomes.filter(({ verdict }) => verdict.kind === kind).length;
  for (const { mutant, verdict } of outcomes) {
    if (verdict.kind === "survived")
      console.log(`\nnobody noticed: ${mutant.file}: ${mutant.bug}\n- ${mutant.find}\n+ ${mutant.replace}\n  ${mutant.tests.join(" ")}`);
    if (verdict.kind === "unloaded") console.log(`\nis no bug but no program: ${mutant.file}: ${mutant.bug}\n${verdict.detail}`);
  }
  const [caught, hung] = [count("caught"), count("hung")];
  console.log(
    `\n${outcomes.length} planted, ${caught + hung} caught (${hung} by the time limit), ${count("survived")} survived, ${count("unloaded")} did not load`,
  );
  return caught + hung === outcomes.length ? 0 : 1;
}

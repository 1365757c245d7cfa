/** The documentation holds together: what it points at is there, and what must be told is told. */
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { failureReasons, sandboxStopReasons } from "#model/keys.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...globSync("docs/**/*.md", { cwd: root })];

/** Targets of links and images; not what stands in code. */
function linksOf(page: string): string[] {
  const prose = readFileSync(join(root, page), "utf8").replaceAll(/^```[^]*?^```|`[^`\n]*`/gm, "");
  const inline = prose.matchAll(/\]\(\s*<?([^)\s>]+)/g);
  const byName = prose.matchAll(/^\s*\[[^\]]+\]:\s*<?([^\s>]+)/gm);
  return [...inline, ...byName].map(([, target = ""]) => target);
}

/** As the pages that show Markdown make it of a heading. */
function anchorsOf(file: string): Set<string> {
  const headings = readFileSync(file, "utf8").matchAll(/^#+ +(.+)$/gm);
  const anchors = Array.from(headings, ([, text = ""]) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-"),
  );
  return new Set(anchors);
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = "", anchor = ""] = link.split("#", 2);
  const target = path === "" ? join(root, page) : join(root, dirname(page), decodeURIComponent(path));
  if (!existsSync(target)) return false;
  return anchor === "" || !target.endsWith(".md") || anchorsOf(target).has(anchor);
}

describe("the documentation", () => {
  test("is found", () => {
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.flatMap(linksOf).length).toBeGreaterThan(5);
  });

  test.each(pages)("%s has no link that leads nowhere", (page) => {
    const relative = linksOf(page).filter((link) => !/^[a-z][a-z0-9+.-]*:/i.test(link));
    expect(relative.filter((link) => !leadsSomewhere(page, link))).toEqual([]);
  });

  test.each(["CONTRIBUTING.md", "docs/ARCHITECTURE.md"])("%s names files and folders that are there", (page) => {
    const named = readFileSync(join(root, page), "utf8").matchAll(/`((?:src|test|tools|deploy|docs|bench)\/(?!layer\/)[^`\s]*)`/g);
    expect(Array.from(named, ([, path = ""]) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("file lists in comments name files that exist", () => {
    const files = globSync(["src/**/*.{ts,tsx,c,h}", "test/**/*.ts", "bench/**/*.ts", "tools/**/*.ts", "*.ts"], { cwd: root });
    const names = new Set(files.map((file) => basename(file)));
    const unknown = files.flatMap((file) => {
      const comments = readFileSync(join(root, file), "utf8").match(/^\s*(?:\*|\/\*|\/\/).*$/gm) ?? [];
      const named = comments.flatMap((line) =>
        Array.from(line.matchAll(/(?<![\w./…-])(?:[\w-]+\/)*([\w][\w.-]*\.tsx?)\b/g), ([, name = ""]) => name),
      );
      return named.filter((name) => !names.has(name)).map((name) => `${file}: ${name}`);
    });
    expect(unknown).toEqual([]);
  });

  test("has a row with a status in docs/adr/README.md for every decision", () => {
    const rows = readFileSync(join(root, "docs/adr/README.md"), "utf8").matchAll(
      /^\| \[\d+\]\((\d{4}-[^)]+\.md)\) \| .+ \| (?:in force|extended|overtaken)[^|]* \|$/gm,
    );
    const decisions = readdirSync(join(root, "docs/adr")).filter((file) => /^\d{4}-/.test(file));
    expect(Array.from(rows, ([, file = ""]) => file).toSorted()).toEqual(decisions.toSorted());
  });

  test("has a row in docs/ARCHITECTURE.md for every folder of src, and none for a folder that is neither there nor planned", () => {
    const rows = readFileSync(join(root, "docs/ARCHITECTURE.md"), "utf8").matchAll(/^\| (`[^|]+`) \| (.+) \| .+ \|$/gm);
    const told = Array.from(rows, ([, names = "", about = ""]) => ({
      names: [...names.matchAll(/`([a-z-]+)`/g)].map(([, name = ""]) => name),
      about,
    }));
    const folders = readdirSync(join(root, "src"));
    expect(folders.filter((folder) => !told.some(({ names }) => names.includes(folder)))).toEqual([]);
    const unplanned = told.filter(({ about }) => !about.startsWith("*planned*")).flatMap(({ names }) => names);
    expect(unplanned.filter((name) => !folders.includes(name))).toEqual([]);
  });

  test("names every stop reason and every failure reason", () => {
    const missing = (page: string, words: readonly string[]): string[] => {
      const text = readFileSync(join(root, page), "utf8");
      return words.filter((word) => !new RegExp(`\\b${word}\\b`).test(text));
    };
    expect(missing("docs/concepts.md", sandboxStopReasons)).toEqual([]);
    expect(missing("docs/kubernetes-pods.md", Object.values(failureReasons))).toEqual([]);
  });

  test("says of every package why it is here", () => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<
      string,
      Record<string, string>
    >;
    const told = readFileSync(join(root, "docs/DEPENDENCIES.md"), "utf8");
    const names = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(names.filter((name) => !told.includes(`\`${name}\``))).toEqual([]);
  });
});

/** The documentation holds together: what it points at is there, and what must be told is told. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = ["README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md", { cwd: root })];

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

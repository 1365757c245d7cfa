import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { stepReader } from "./build-folders.ts";
import { layerScript, stageMark } from "./layer-script.ts";
import { type LayerRecipe, recipes } from "./recipes.ts";
import { scriptVariables } from "./machine-settings.ts";
import { templateObjects } from "./template-objects.ts";

const sources = ["deb http://mirror.example/debian trixie main"];
const nothing: LayerRecipe = { name: "empty", debian: [], python: [], npm: [], finish: [] };

test("the script of every layer is one that bash understands", () => {
  for (const layer of Object.values(recipes).flatMap(({ layers }) => layers)) {
    const { status, stderr } = spawnSync("bash", ["-n"], { input: layerScript(layer, sources) });
    expect([layer.name, status, stderr.toString()]).toEqual([layer.name, 0, ""]);
  }
});

test("patterns and lists of sources reach apt as they are written", () => {
  const script = layerScript({ ...nothing, debian: ["jq"] }, sources);
  expect(script).toContain("-o 'Dpkg::Options::=--path-exclude=/usr/share/man/*'");
  expect(script).toContain("printf '%s\\n' 'deb http://mirror.example/debian trixie main' > /run/sources.list");
  expect(script).toMatch(/apt-get .* -y install jq\n/);
});

test("every package of PyPI and npm has a version, so that a template is the same on every day", () => {
  for (const { python, npm } of Object.values(recipes).flatMap(({ layers }) => layers)) {
    expect(python.filter((name) => !/^[\w.-]+==[\d.]+$/.test(name))).toEqual([]);
    expect(npm.filter((name) => !/^[\w.-]+@[\d.]+$/.test(name))).toEqual([]);
  }
});

test("progress is read from what apt prints: each package is unpacked and set up", () => {
  const steps: string[] = [];
  const read = stepReader("tools", ({ doing, done, total }) => steps.push(`${doing} ${done}/${total}`));
  for (const line of [
    `${stageMark}Debian packages`,
    "1 upgraded, 1 newly installed, 0 to remove",
    "noise",
    "Unpacking jq",
    "Setting up jq",
  ]) {
    read(line);
  }
  expect(steps).toEqual([
    "tools: Debian packages 0/0",
    "tools: Debian packages 0/4",
    "tools: Debian packages 1/4",
    "tools: Debian packages 2/4",
  ]);
});

test("proxies and package indexes of the machine are used, other variables stay outside", () => {
  const made = scriptVariables({ https_proxy: "http://proxy:1", PIP_INDEX_URL: "http://pypi", AWS_SECRET: "x", PATH: "/me" }, true);
  expect(made).toMatchObject({ https_proxy: "http://proxy:1", PIP_INDEX_URL: "http://pypi", PIP_CERT: "/run/certificates.pem" });
  expect(made["PATH"]).not.toContain("/me");
  expect(Object.keys(made)).not.toContain("AWS_SECRET");
  expect(Object.keys(scriptVariables({}, false))).not.toContain("PIP_CERT");
});

test("the code interpreter has the name that E2B's SDKs ask for, and its own", () => {
  const { template, envs } = templateObjects("code-interpreter", "image:1");
  expect(template.metadata.name).toBe("code-interpreter-v1");
  expect(template.spec.runtimes?.map(({ name }) => name)).toEqual(["e2b", "code-interpreter"]);
  expect(envs.map(({ metadata, spec }) => [metadata.name, spec.templateRef?.name])).toEqual([
    ["code-interpreter-v1", "code-interpreter-v1"],
    ["code-interpreter", "code-interpreter-v1"],
  ]);
});

/** The web console in a real browser, over a real server with real sandboxes. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { freePort } from "../world/free-port.ts";
import { UpProcess } from "../world/up-process.ts";
import { OpenBrowser } from "./open-browser.ts";

const up = await UpProcess.onNewFolder(undefined, await freePort());
const browser = await OpenBrowser.launch();
let client: AgentBoxClient;
let url = "";
let key = "";

beforeAll(async () => {
  await up.start();
  ({ url, apiKey: key } = await up.access());
  client = new AgentBoxClient({ url, apiKey: key });
}, 180_000);

afterAll(async () => {
  await browser.close();
  await up[Symbol.asyncDispose]();
}, 180_000);

async function aSandbox(metadata: Readonly<Record<string, string>> = {}, by = client): Promise<string> {
  return (await by.sandboxes.create({ poolName: "base", lifetime: "10m", metadata })).sandbox.sandboxId;
}

async function signedIn(apiKey = key): Promise<Page> {
  const page = await browser.page();
  await page.goto(url);
  await page.getByLabel("API key").fill(apiKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

test("a wrong key is refused in words, a right one opens the console, and signing out closes it", async () => {
  const page = await browser.page();
  await page.goto(url);
  await page.getByLabel("API key").fill("e2b_0000000000000000000000000000000000000000");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("this API key is not valid").waitFor();
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(await page.evaluate("[document.cookie, JSON.stringify(localStorage), location.href].join()")).not.toContain("e2b_");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  expect((await page.context().cookies()).filter(({ name }) => name.includes("agentbox"))).toEqual([]);
});

test("the list shows a new sandbox and its end without a reload, filters by the address, and ends what is selected", async () => {
  const page = await signedIn();
  await page.goto(`${url}/console/sandboxes`);
  const id = await aSandbox({ ticket: "77" });
  const row = page.locator(".grid-row", { hasText: id });
  await row.waitFor();
  await page.goto(`${url}/console/sandboxes?q=ticket%3D77`);
  await row.waitFor();
  expect(await page.getByRole("row").count()).toBe(2);
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "End them…" }).click();
  await page.getByRole("dialog").getByText(id).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await row.waitFor({ state: "detached" });
  expect((await client.sandboxes.get(id)).status).not.toBe("Running");
});

test("a terminal runs commands in the sandbox, and a file can be edited, as the terminal then sees", async () => {
  const id = await aSandbox();
  const page = await signedIn();
  await page.goto(`${url}/console/sandboxes/${id}?tab=terminal`);
  await page.locator(".xterm-helper-textarea").waitFor();
  await page.locator(".xterm-screen").click();
  await expect.poll(() => shownIn(page)).toMatch(/[#$]/);
  await page.keyboard.type("mkdir -p /tmp/w; echo one > /tmp/w/note.txt; echo si$((40+2))ze\n");
  await expect.poll(() => shownIn(page)).toContain("si42ze");
  await page.goto(`${url}/console/sandboxes/${id}?tab=files&folder=/tmp/w&file=/tmp/w/note.txt`);
  await page.locator(".cm-content").getByText("one").click();
  await page.keyboard.press("End");
  await page.keyboard.type(" and two");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  expect((await client.sandboxes.exec(id, { command: ["cat", "/tmp/w/note.txt"] })).stdout).toBe("one and two\n");
});

test("a terminal outlives a reload of its page, and one of an SDK can be joined", async () => {
  const id = await aSandbox();
  const page = await signedIn();
  await page.goto(`${url}/console/sandboxes/${id}?tab=terminal`);
  await page.locator(".xterm-screen").click();
  await expect.poll(() => shownIn(page)).toMatch(/[#$]/);
  await page.keyboard.type("kept=yes; echo be$((1+1))fore\n");
  await expect.poll(() => shownIn(page)).toContain("be2fore");
  await page.reload();
  await page.locator(".xterm-screen").click();
  await expect.poll(() => shownIn(page)).toContain("be2fore");
  await page.keyboard.type("echo still-$kept\n");
  await expect.poll(() => shownIn(page)).toContain("still-yes");
  const pid = await client.sandboxes.startTerminal(id, { command: ["sh", "-c", "echo from-afar; exec sleep 600"], rows: 24, cols: 80 });
  await page.reload();
  await page.getByRole("button", { name: `Join terminal ${pid}` }).click();
  await expect.poll(() => shownIn(page)).toContain("from-afar");
  await page.getByRole("button", { name: "End shell 2" }).click();
  await expect.poll(async () => (await client.sandboxes.terminals(id)).map((one) => one.pid)).not.toContain(pid);
});

test("what a sandbox writes into names of files is text on the page, and never runs", async () => {
  const id = await aSandbox();
  const name = "<img src=x onerror=alert(1)>";
  await client.sandboxes.exec(id, { command: ["sh", "-c", 'mkdir -p /tmp/h && touch "/tmp/h/$0"', name] });
  const page = await signedIn();
  await page.goto(`${url}/console/sandboxes/${id}?tab=files&folder=/tmp/h`);
  await page.getByText(name, { exact: true }).waitFor();
  expect(await page.locator("img").count()).toBe(0);
});

test("a sandbox ends from its page, which then says why", async () => {
  const id = await aSandbox();
  const page = await signedIn();
  await page.goto(`${url}/console/sandboxes/${id}`);
  await page.getByRole("button", { name: "End…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await page.getByText(/^Ended: /).waitFor();
  expect((await client.sandboxes.get(id)).terminatedAt).toBeDefined();
});

test("the playground runs code in a sandbox and shows what it printed", async () => {
  const page = await signedIn();
  await page.goto(`${url}/console/playground`);
  await page.locator(".cm-content").waitFor();
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("285").waitFor();
  await page.getByText("Exit code 0").waitFor();
  expect(await page.getByLabel("Output").innerText()).toContain("Hello from");
});

test("the log of a sandbox stays readable after its end, and the audit log says who ended it", async () => {
  const id = await aSandbox();
  await client.sandboxes.exec(id, { command: ["sh", "-c", "echo the last words > /proc/1/fd/1"] });
  await client.sandboxes.end(id);
  const page = await signedIn();
  await expect
    .poll(async () => (await client.sandboxes.logs(id).catch(() => undefined))?.lines, { timeout: 30_000 })
    .toContain("the last words");
  await page.goto(`${url}/console/sandboxes/${id}?tab=logs`);
  await page.getByText("the last words").waitFor();
  await page.goto(`${url}/console/audit?target=${id}`);
  const row = page.getByRole("row", { name: "DELETE /v1/sandboxes/:sandboxId" });
  await row.waitFor();
  expect(await row.innerText()).toMatch(/Admin[^]*202[^]*127\.0\.0\.1/);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).click();
  expect((await download).suggestedFilename()).toBe("audit.csv");
  await page.goto(`${url}/console/usage`);
  await page.getByRole("cell", { name: "without an owner" }).waitFor();
});

test("a tenant's page receives nothing of another tenant, on the wire", async () => {
  const [red, blue] = await Promise.all(["red", "blue"].map((team) => client.keys.create({ role: "tenant", team, name: team })));
  const page = await browser.page();
  const received = browser.received(page);
  await page.goto(url);
  await page.getByLabel("API key").fill(red?.key ?? "");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const [hers, his] = await Promise.all([red, blue].map((made) => aSandbox({}, new AgentBoxClient({ url, apiKey: made?.key ?? "" }))));
  await page
    .getByText(hers ?? "")
    .first()
    .waitFor();
  const text = received();
  expect(text).toContain(hers);
  expect(text).not.toContain(his);
  await page.goto(`${url}/console/sandboxes/${his}`);
  await page.getByText("This sandbox cannot be shown").waitFor();
  // Revoking the key ends the page's session.
  await client.keys.revoke(red?.id ?? "");
  await page.getByLabel("API key").waitFor();
});

test("a page that is open while the server restarts goes on by itself", async () => {
  const page = await signedIn();
  await page.goto(`${url}/console/sandboxes`);
  await page.getByRole("heading", { name: "Sandboxes" }).waitFor();
  await up.process.kill();
  await page.getByText("The connection to the server is broken").waitFor();
  await up.start();
  expect((await up.access()).url).toBe(url);
  await page.getByText("The connection to the server is broken").waitFor({ state: "detached" });
  const id = await aSandbox();
  await page.locator(".grid-row", { hasText: id }).waitFor();
}, 180_000);

test("without a mouse one signs in, finds a page by Ctrl-K, and opens a sandbox of the list", async () => {
  const id = await aSandbox({ by: "keys" });
  const page = await browser.page();
  await page.goto(url);
  await page.getByLabel("API key").waitFor();
  await page.keyboard.type(key);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("sandboxes");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Sandboxes" }).waitFor();
  await page.locator(".grid-row", { hasText: id }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("by=keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: id }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  expect(page.url()).toBe(`${url}/console/sandboxes/${id}`);
});

const pages = [
  "",
  "sandboxes",
  "playground",
  "pools",
  "envs/default/base",
  "pools/default/base",
  "templates",
  "templates/base",
  "builds",
  "checkpoints",
  "volumes",
  "webhooks",
  "history",
  "keys",
  "usage",
  "usage?by=user&days=1",
  "audit",
  "limits",
  "health",
];

test.each(["light", "dark"] as const)(
  "no page has a serious finding of axe, in the %s theme",
  async (colorScheme) => {
    const page = await signedIn();
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const id = await aSandbox();
    const found: unknown[] = [];
    for (const path of [
      ...pages,
      `sandboxes/${id}`,
      ...["terminal", "files", "logs", "processes", "ports"].map((tab) => `sandboxes/${id}?tab=${tab}`),
    ]) {
      await page.goto(`${url}/console/${path}`);
      await page.locator("main h1").waitFor();
      await page.waitForLoadState("load");
      const { violations } = await new AxeBuilder({ page }).analyze();
      for (const { id: rule, impact, nodes } of violations) {
        if (impact === "serious" || impact === "critical") found.push({ path, rule, nodes: nodes.map(({ html }) => html.slice(0, 200)) });
      }
    }
    expect(found).toEqual([]);
  },
  180_000,
);

test("on a phone no page is wider than the screen", async () => {
  const page = await signedIn();
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of pages) {
    await page.goto(`${url}/console/${path}`);
    await page.locator("main h1").waitFor();
    expect([path, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, 390]);
  }
});

test("no page asks any other server, and none of all these tests broke the content policy or threw", () => {
  expect(browser.foreignRequests(url)).toEqual([]);
  expect(browser.complaints()).toEqual([]);
});

/** The lines of the terminal, as screen readers get them. */
async function shownIn(page: Page): Promise<string> {
  return (await page.locator(".xterm-accessibility, .xterm-rows").allInnerTexts()).join("\n");
}

test("the first page has less than 200 KB of script, packed", async () => {
  const page = await fetch(url);
  const [, script = ""] = /src="([^"]+\.js)"/.exec(await page.text()) ?? [];
  const answer = await fetch(url + script, { headers: { "accept-encoding": "gzip" } });
  expect(answer.headers.get("content-encoding")).toBe("gzip");
  expect(Number(answer.headers.get("content-length"))).toBeLessThan(200 * 1024);
});

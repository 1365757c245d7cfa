/** The console's pages of things that are made (snapshots, forks, volumes, builds, webhooks), people without keys, and admins that act as a team. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { freePort } from "../world/free-port.ts";
import { OidcProviderProcess } from "../world/oidc-provider-process.ts";
import { UpProcess } from "../world/up-process.ts";
import { OpenBrowser } from "./open-browser.ts";

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const folder = await mkdtemp(join(tmpdir(), "agentbox-oidc-"));
const settings = join(folder, "oidc.yaml");
const provider = await OidcProviderProcess.start(`${url}/console/oidc`);
await writeFile(join(folder, "secret"), "a secret of the client's\n");
await writeFile(
  settings,
  `issuer: ${provider.issuer}
clientId: agentbox
clientSecretFile: ./secret
url: ${url}
name: The login
scopes: [openid, profile, groups]
groups:
  - { group: platform, role: admin }
  - { group: research, team: red, ownUser: true }
`,
);
const up = await UpProcess.onNewFolder(undefined, port, { AGENTBOX_OIDC: settings, AGENTBOX_WEBHOOK_HOSTS: "127.0.0.1:*" });
const browser = await OpenBrowser.launch();
let client: AgentBoxClient;
let key = "";

beforeAll(async () => {
  await up.start();
  ({ apiKey: key } = await up.access());
  client = new AgentBoxClient({ url, apiKey: key });
}, 180_000);

afterAll(async () => {
  await browser.close();
  await up[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
}, 180_000);

async function signedIn(): Promise<Page> {
  const page = await browser.page();
  await page.goto(url);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

async function aSandbox(by = client): Promise<string> {
  return (await by.sandboxes.create({ poolName: "base", lifetime: "10m" })).sandbox.sandboxId;
}

async function signInAtProvider(page: Page, name: string, button = "Continue"): Promise<void> {
  await page.getByRole("button", { name: "Sign in with The login" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: button }).click();
}

test("a person signs in at the provider, comes back to the page that it wanted, and has what its group gives", async () => {
  const page = await browser.page();
  await page.goto(`${url}/console/sandboxes?q=pool`);
  await signInAtProvider(page, "ann.research");
  await page.getByRole("heading", { name: "Sandboxes" }).waitFor();
  expect(page.url()).toBe(`${url}/console/sandboxes?q=pool`);
  await page.getByText("red / ann").waitFor();
  await page.reload();
  await page.getByText("red / ann").waitFor();
  const { entries } = await client.reports.audit({ action: "POST /console/oidc/finish" });
  expect(entries[0]).toMatchObject({ keyId: "oidc:ann", team: "red", user: "ann", status: 200 });
});

test("a person in no group, and one that cancels, are told why on the page of sign-in", async () => {
  const page = await browser.page();
  await page.goto(url);
  await signInAtProvider(page, "eve.sales");
  await page.getByText("none of your 1 groups at The login has access to this server").waitFor();
  const other = await browser.page();
  await other.goto(url);
  await signInAtProvider(other, "eve", "Cancel");
  await other.getByText("The login did not let you in: access_denied").waitFor();
  expect((await other.context().cookies()).filter(({ name }) => name.includes("agentbox"))).toEqual([]);
});

test("an admin acts as a team on one page, which says so, and another page of the browser stays admin", async () => {
  const red = await client.keys.create({ role: "tenant", team: "red", name: "red" });
  const [hers, mine] = await Promise.all([aSandbox(new AgentBoxClient({ url, apiKey: red.key })), aSandbox()]);
  const page = await signedIn();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("act as");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByLabel("Team", { exact: true }).fill("red");
  await page.getByRole("button", { name: "Act as it" }).click();
  const banner = page.getByText("You act as team red");
  await banner.waitFor();
  await page.goto(`${url}/console/sandboxes`);
  await banner.waitFor();
  await page.locator(".grid-row", { hasText: hers }).waitFor();
  expect(await page.locator(".grid-row", { hasText: mine }).count()).toBe(0);
  const beside = await page.context().newPage();
  await beside.goto(`${url}/console/sandboxes`);
  await beside.locator(".grid-row", { hasText: mine }).waitFor();
  expect(await beside.getByText("You act as").count()).toBe(0);
  await page.getByRole("button", { name: "Be admin again" }).click();
  await banner.waitFor({ state: "detached" });
  await page.goto(`${url}/console/sandboxes`);
  await page.locator(".grid-row", { hasText: mine }).waitFor();
  const { entries } = await client.reports.audit({ action: "POST /console/acting" });
  expect(entries[0]).toMatchObject({ role: "admin", team: "red", status: 200 });
});

test("a snapshot is taken on the page of a sandbox, and a sandbox is made from it on the page of checkpoints", async () => {
  const id = await aSandbox();
  await client.sandboxes.exec(id, { command: ["sh", "-c", "echo kept > /root/kept.txt || echo kept > /home/kept.txt"] });
  const page = await signedIn();
  await page.goto(`${url}/console/sandboxes/${id}`);
  await page.getByRole("button", { name: "Snapshot…" }).click();
  await page.getByLabel("Name").fill("prepared");
  await page.getByRole("button", { name: "Take it" }).click();
  await page.getByRole("heading", { name: "Checkpoints" }).waitFor();
  const row = page.getByRole("row", { name: "prepared" });
  await row.getByText("Succeeded").waitFor();
  await row.getByRole("button", { name: "New sandbox from prepared" }).click();
  await page.getByLabel("Lives for").fill("10m");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/sandboxes\/(?!.*make)[^/]+$/);
  const made = page.url().split("/").at(-1) ?? "";
  expect(made).not.toBe(id);
  const { stdout } = await client.sandboxes.exec(made, { command: ["sh", "-c", "cat /root/kept.txt /home/kept.txt 2>/dev/null"] });
  expect(stdout).toBe("kept\n");
  await page.goto(`${url}/console/checkpoints`);
  await page.getByRole("button", { name: "Delete prepared" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No checkpoint is kept").waitFor();
});

test("a sandbox is forked from the palette, and the new one opens", async () => {
  const id = await aSandbox();
  const page = await signedIn();
  await page.goto(`${url}/console/sandboxes/${id}`);
  await page.getByRole("heading", { name: id }).waitFor();
  await page.getByRole("button", { name: "Fork…" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("fork");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "More sandboxes like this one" }).getByRole("button", { name: "Fork" }).click();
  await expect.poll(() => page.url()).not.toContain(id);
  await page.getByText("Running").first().waitFor();
});

test("a volume is made and deleted, and shows which sandbox has it mounted", async () => {
  const page = await signedIn();
  await page.goto(`${url}/console/volumes`);
  await page.getByText("There is no volume").waitFor();
  await page.getByRole("button", { name: "New volume" }).click();
  await page.getByLabel("Name").fill("Not A Name!");
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Name").fill("cache");
  await page.getByLabel("Size in MiB").fill("64");
  await page.getByRole("button", { name: "Make it" }).click();
  const row = page.getByRole("row", { name: "cache" });
  await row.getByText("Ready").waitFor();
  const { sandbox } = await client.sandboxes.create({
    poolName: "base",
    lifetime: "10m",
    volumeMounts: [{ name: "cache", path: "/data" }],
  });
  await row.getByText(sandbox.sandboxId).waitFor();
  await client.sandboxes.end(sandbox.sandboxId);
  await row.getByText(sandbox.sandboxId).waitFor({ state: "detached" });
  await row.getByRole("button", { name: "Delete volume cache" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("There is no volume").waitFor();
  expect(await client.volumes.list()).toEqual([]);
});

test("the log of a build comes while it is built, and a build can be ended", async () => {
  const { buildId } = await client.builds.request({ name: "slow" });
  const run = "echo first-line; sleep 5; echo last-line; sleep 600";
  await client.builds.start(buildId, { fromImage: "host", steps: [{ type: "RUN", args: [run] }] });
  const page = await signedIn();
  await page.goto(`${url}/console/builds`);
  await page.getByRole("link", { name: "slow" }).click();
  const log = page.getByRole("log");
  await log.getByText("first-line").waitFor();
  await page.getByText("Running", { exact: true }).waitFor();
  await expect.poll(() => log.innerText()).toMatch(/\n.*last-line$/);
  await page.getByRole("button", { name: "End it…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await page.locator(".page-head").getByText("Failed").waitFor();
});

test("a webhook shows what it has not taken, and why", async () => {
  const page = await signedIn();
  await page.goto(`${url}/console/webhooks`);
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.getByLabel("Name").fill("nowhere");
  await page.getByLabel("Address").fill(`http://127.0.0.1:${await freePort()}/hook`);
  expect(await page.getByLabel("Secret").inputValue()).toMatch(/^[0-9a-f]{48}$/);
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("row", { name: "nowhere" }).getByText("Ready").waitFor();
  const id = await aSandbox();
  await page.getByRole("button", { name: "Deliveries of nowhere" }).click();
  await page.getByRole("dialog").getByText(id).first().waitFor();
  await page.getByRole("dialog").getByText("tried again").first().waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Switch nowhere off" }).click();
  await page.getByRole("row", { name: "nowhere" }).getByText("Off", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Delete webhook nowhere" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("There is no webhook").waitFor();
});

test("two browsers see the same change, each by itself", async () => {
  const [one, other] = [await signedIn(), await signedIn()];
  for (const page of [one, other]) await page.goto(`${url}/console/sandboxes`);
  const id = await aSandbox();
  for (const page of [one, other]) await page.locator(".grid-row", { hasText: id }).waitFor();
  await one.goto(`${url}/console/sandboxes/${id}`);
  await one.getByRole("button", { name: "Pause" }).click();
  await other.locator(".grid-row", { hasText: id }).getByText("Paused").waitFor();
  expect((await client.sandboxes.get(id)).status).toBe("Paused");
});

test.each(["light", "dark"] as const)(
  "sign-in, its banner and every dialog are without serious findings of axe, in the %s theme",
  async (colorScheme) => {
    const found: unknown[] = [];
    const check = async (page: Page, where: string): Promise<void> => {
      const { violations } = await new AxeBuilder({ page }).analyze();
      for (const { id, impact, nodes } of violations)
        if (impact === "serious" || impact === "critical") found.push({ where, id, nodes: nodes.map(({ html }) => html.slice(0, 200)) });
    };
    const stranger = await browser.page();
    await stranger.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await stranger.goto(url);
    await stranger.getByRole("button", { name: "Sign in with The login" }).waitFor();
    await check(stranger, "sign-in");
    const id = await aSandbox();
    const page = await signedIn();
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const dialogs: readonly (readonly [path: string, button: string])[] = [
      [`sandboxes/${id}`, "Snapshot…"],
      [`sandboxes/${id}`, "Fork…"],
      ["volumes", "New volume"],
      ["webhooks", "New webhook"],
      ["", "Act as a team…"],
    ];
    for (const [path, button] of dialogs) {
      await page.goto(`${url}/console/${path}`);
      await page.getByRole("button", { name: button }).click();
      await page.getByRole("dialog").waitFor();
      await check(page, button);
      if (button !== "Act as a team…") await page.getByRole("button", { name: "Cancel" }).click();
    }
    await page.getByRole("dialog").getByLabel("Team", { exact: true }).fill("red");
    await page.getByRole("button", { name: "Act as it" }).click();
    await page.getByText("You act as team red").waitFor();
    await check(page, "banner");
    expect(found).toEqual([]);
  },
);

test("none of these pages asks any other server than the provider, breaks the content policy or throws", () => {
  expect(browser.foreignRequests(url).filter((origin) => origin !== provider.issuer)).toEqual([]);
  expect(browser.complaints()).toEqual([]);
});

/** The command line in a real terminal, over a real server with real sandboxes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { join } from "node:path";
import { TmuxWindow } from "../world/tmux.ts";
import { UpProcess } from "../world/up-process.ts";

const up = await UpProcess.onNewFolder();
const root = join(import.meta.dirname, "../..");

beforeAll(async () => {
  await up.start();
}, 180_000);
afterAll(() => up[Symbol.asyncDispose](), 180_000);

function window(cols = 100, rows = 30): Promise<TmuxWindow> {
  // Completion gives up after 0.3 s by itself, which a busy machine can take.
  const patience = { AGENTBOX_COMPLETION_MS: "15000" };
  return TmuxWindow.open({ cols, rows, env: { ...patience, AGENTBOX_HOME: up.home, PATH: `${root}/bin:${process.env["PATH"] ?? ""}` } });
}

test("a shell has the window's size and follows it, Ctrl-C ends what runs in it and not the shell, and its exit code is the command's", async () => {
  await using terminal = await window();
  await terminal.enter("agentbox shell base");
  await terminal.shows(/[#$] *$/m);
  await terminal.enter("stty size");
  await terminal.shows(/^30 100$/m);
  await terminal.resize(120, 40);
  await terminal.enter("sleep 1; stty size");
  await terminal.shows(/^40 120$/m);
  await terminal.enter("sleep 600; echo interrupted: $?");
  await new Promise((resolve) => setTimeout(resolve, 500));
  await terminal.press("C-c");
  await terminal.enter("echo code: $?");
  await terminal.shows("code: 130");
  await terminal.enter("exit 7");
  await terminal.shows("ready>");
  await terminal.enter("echo it was $?");
  expect(await terminal.shows("it was 7")).toContain("it was 7");
}, 120_000);

test("Tab completes commands and the ids of live sandboxes", async () => {
  const id = (await up.agentbox("run", "base")).stdout.trim();
  await using terminal = await window();
  await terminal.enter('source <(agentbox completion bash); complete -p agentbox >/dev/null && echo "completion is $((1+1))"');
  await terminal.shows("completion is 2");
  await terminal.press("C-l");
  await terminal.enter(`: ${id}`);
  await terminal.press(..."agentbox insp".split("").map((key) => (key === " " ? "Space" : key)), "Tab");
  await terminal.shows("agentbox inspect");
  await terminal.press(...id.slice(0, -2).split(""), "Tab");
  expect(await terminal.shows(`agentbox inspect ${id}`)).toContain(id);
  await up.agentbox("rm", id);
}, 120_000);

test.each([
  [80, 24],
  [200, 60],
])(
  "the live view fits a terminal of %i columns and %i lines, filters, and gives the terminal back",
  async (cols, rows) => {
    const id = (await up.agentbox("run", "base")).stdout.trim();
    await using terminal = await window(cols, rows);
    // With CI set, ink draws nothing unless it is told to.
    await terminal.enter("echo before; CI=true agentbox");
    await terminal.shows(id.slice(0, 12));
    const screen = await terminal.screen();
    expect(screen.length).toBeLessThanOrEqual(rows);
    expect(Math.max(...screen.map((line) => Array.from(line).length))).toBeLessThanOrEqual(cols);
    await terminal.press("/");
    await terminal.press(..."nothing-has-this".split(""));
    await terminal.shows("No sandbox matches this text");
    await terminal.press("Escape");
    // A key that follows at once is Alt and that key for every terminal.
    await terminal.shows(/^(?![^]*Filter: )/);
    await terminal.press("q");
    // The prompt before the view is on the restored screen at once; the next one comes when the view has ended.
    await terminal.shows(/^ready>$/m);
    await terminal.enter("echo back");
    await terminal.shows(/^back$/m);
    await up.agentbox("rm", id);
  },
  120_000,
);

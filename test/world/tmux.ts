/** A real terminal: a window of tmux, of a size that the test chooses, whose screen can be read. On a server of its own, which ends with the test. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";

const execute = promisify(execFile);

export class TmuxWindow implements AsyncDisposable {
  readonly #server = `agentbox-test-${randomUUID()}`;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Runs a shell without settings of the machine's user. */
  static async open({
    cols,
    rows,
    env,
  }: {
    readonly cols: number;
    readonly rows: number;
    readonly env: Readonly<Record<string, string>>;
  }): Promise<TmuxWindow> {
    // tmux gives a new window the PATH of its client, whatever -e says.
    const window = new TmuxWindow({ ...process.env, ...env });
    const variables = Object.entries({ ...env, PS1: "ready> ", TERM: "tmux-256color", LC_ALL: "C.UTF-8" }).flatMap(([name, value]) => [
      "-e",
      `${name}=${value}`,
    ]);
    const size = ["-x", String(cols), "-y", String(rows)];
    await window.#tmux("-f", "/dev/null", "new-session", "-d", ...size, ...variables, "bash", "--noprofile", "--norc");
    await window.shows("ready>");
    return window;
  }

  /** Types a line and Enter. */
  async enter(line: string): Promise<void> {
    await this.#tmux("send-keys", "-l", line);
    await this.press("Enter");
  }

  /** Keys by their names in tmux, such as `C-c`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.#tmux("resize-window", "-x", String(cols), "-y", String(rows));
  }

  /** The lines of the screen, without spaces at their ends. */
  async screen(): Promise<readonly string[]> {
    return (await this.#tmux("capture-pane", "-p")).replace(/\n$/, "").split("\n");
  }

  /** Resolves with the screen when it has this text; rejects with what it shows when that takes too long. */
  async shows(text: string | RegExp, patienceMs = 20_000): Promise<string> {
    const until = performance.now() + patienceMs;
    for (;;) {
      const screen = (await this.screen()).join("\n");
      if (typeof text === "string" ? screen.includes(text) : text.test(screen)) return screen;
      if (performance.now() > until) throw new Error(`the terminal does not show ${String(text)}, but:\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server").catch(() => {});
  }

  async #tmux(...words: readonly string[]): Promise<string> {
    return (await execute("tmux", ["-L", this.#server, ...words], { env: this.#env })).stdout;
  }
}

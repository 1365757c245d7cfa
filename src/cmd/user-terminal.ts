import { createInterface } from "node:readline/promises";
import type { UserTerminal } from "#cli/context.ts";

/** The terminal of this process, as long as it is held: then it is as it was before. */
export function userTerminal(): UserTerminal | undefined {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  stdin.setRawMode(true).resume();
  return {
    get rows() {
      return stdout.rows;
    },
    get cols() {
      return stdout.columns;
    },
    show: (bytes) => void stdout.write(bytes),
    onTyped: (handler) => void stdin.on("data", handler),
    onResize: (handler) => void stdout.on("resize", handler),
    [Symbol.dispose]: () => {
      stdin.setRawMode(false).pause();
      stdin.removeAllListeners("data");
      stdout.removeAllListeners("resize");
    },
  };
}

/** The question goes to standard error: standard output is for results. */
export async function askUser(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

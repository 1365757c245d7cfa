import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Runs a program and gives what it wrote; what it complained of is the error. */
export async function runProgram(file: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(file, args, { maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const { stderr = "", message } = error as Error & { readonly stderr?: string };
    throw new Error(stderr.trim() || message, { cause: error });
  }
}

/** Commands in sandboxes as a shell's user meets them: the same stories for a process of any engine, with a pool `base`. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Said } from "./run-cli.ts";
import type { SystemUnderTest } from "./sandbox-stories.ts";

const bin = join(import.meta.dirname, "../../bin");

/** A script of bash in an empty folder that finds `agentbox`, and $ID as a sandbox. */
async function script(up: SystemUnderTest, lines: string): Promise<Said> {
  const { url, apiKey } = await up.access();
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}`, AGENTBOX_API_URL: url, AGENTBOX_API_KEY: apiKey };
  const whole = `set -o pipefail; cd "$(mktemp -d)"; trap 'agentbox rm "$ID" > /dev/null; rm -r "$PWD"' EXIT; ID=$(agentbox run base)\n${lines}`;
  return new Promise((resolve) => {
    execFile("bash", ["-c", whole], { env, maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) });
    });
  });
}

/** `open`: one that is not started yet. */
export function describeExecStories(open: () => Promise<SystemUnderTest>): void {
  test("commands are run through a shell's pipes, with signals and exit codes, as if they ran here", async () => {
    await using up = await open();
    await up.start();

    // A hundred megabytes there and back, which no text survives.
    const copied = await script(
      up,
      `head -c 100000000 /dev/urandom > big
       sum=$(sha256sum < big)
       agentbox exec $ID -- cat < big > back || echo failed
       [ "$(sha256sum < back)" = "$sum" ] && echo both ways
       agentbox exec $ID -- sh -c 'cat > /tmp/big' < big
       [ "$(agentbox exec $ID -- sha256sum /tmp/big | cut -c1-64)" = "\${sum%  -}" ] && echo in
       agentbox exec $ID -- cat /tmp/big | sha256sum | grep -q "\${sum%  -}" && echo out`,
    );
    expect(copied).toEqual({ stdout: "both ways\nin\nout\n", stderr: "", code: 0 });

    const tarred = await script(
      up,
      `mkdir -p a/b && printf '\\377\\000' > a/b/c && chmod 711 a/b/c
       tar c a | agentbox exec $ID -- tar x -C /tmp
       agentbox exec $ID -- tar c -C /tmp a | tar t
       agentbox exec $ID -- stat -c '%a %s' /tmp/a/b/c`,
    );
    expect(tarred).toEqual({ stdout: "a/\na/b/\na/b/c\n711 2\n", stderr: "", code: 0 });

    const ends = await script(
      up,
      `agentbox exec $ID -- nosuch; echo $?
       agentbox exec $ID -- /etc/passwd; echo $?
       agentbox exec $ID -- sh -c 'kill -9 $$'; echo $?
       agentbox exec $ID -u nosuch -- true; echo $?
       agentbox exec $ID -- yes | head -n 2; echo \${PIPESTATUS[0]}
       timeout -s INT 5 agentbox exec $ID -- sh -c 'trap "echo caught; exit 3" INT; while :; do sleep 1; done'; echo $?
       printf 'a\\nb\\n' | while read line; do agentbox exec -n $ID -- echo "$line"; done`,
    );
    expect(ends.stdout.split("\n")).toEqual(["127", "126", "137", "1", "y", "y", "141", "caught", "124", "a", "b", ""]);
    expect(ends.stderr).toContain('agentbox: there is no program "nosuch" in PATH\n');
    expect(ends.stderr).toContain('agentbox: "/etc/passwd" may not be executed\n');

    const gone = await script(
      up,
      `agentbox exec $ID -- sh -c 'exec sleep 4711' & client=$!
       until agentbox exec $ID -- sh -c 'cat /proc/[0-9]*/cmdline | grep -aq "sleep.4711"'; do sleep 0.2; done
       kill -9 $client
       for turn in $(seq 50); do agentbox exec $ID -- sh -c 'cat /proc/[0-9]*/cmdline | grep -aq "^sleep.4711"' || { echo killed; break; }; sleep 0.2; done`,
    );
    expect(gone.stdout).toBe("killed\n");
  });
}

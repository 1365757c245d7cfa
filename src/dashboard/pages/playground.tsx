/** Runs code in a sandbox, and shows the same as a program to copy. */
import { useState } from "preact/hooks";
import type { ExecResult } from "#client/sandbox-types.ts";
import { api, messageOf } from "../api.ts";
import { msText } from "../format.ts";
import { envs, known, pools } from "../live/live-state.ts";
import { Lazy } from "../parts/lazy.tsx";
import { Link } from "../parts/link.tsx";
import { tell } from "../parts/toasts.tsx";
import { hrefOf } from "../route.ts";
import { signedIn } from "../session/session.ts";
import { curlSnippet, type Language, languages, pythonSnippet, typescriptSnippet } from "./playground-code.ts";

interface Run {
  readonly result?: ExecResult;
  readonly error?: string;
  readonly createMs?: number;
  readonly runMs?: number;
}

const lifetime = "15m";

export function Playground() {
  const [language, setLanguage] = useState<Language>("python");
  const [code, setCode] = useState(languages.python.first);
  const [first, setFirst] = useState(code);
  const names = sourceNames();
  const [chosen, setFrom] = useState("");
  const from = names.includes(chosen) ? chosen : (names[0] ?? "");
  const [sandbox, setSandbox] = useState<{ readonly id: string; readonly from: string }>();
  const [run, setRun] = useState<Run>();
  const [isBusy, setBusy] = useState(false);
  const reusable = sandbox?.from === from && known.value.sandboxes.get(sandbox.id)?.status === "Running" ? sandbox.id : undefined;
  const start = async (): Promise<void> => {
    setBusy(true);
    setRun({});
    try {
      const began = performance.now();
      const id = reusable ?? (await api.sandboxes.create({ poolName: from, lifetime, metadata: { made: "playground" } })).sandbox.sandboxId;
      const createMs = performance.now() - began;
      setSandbox({ id, from });
      const ran = performance.now();
      const result = await api.sandboxes.exec(id, { command: languages[language].command, stdin: code, timeout: "5m" });
      setRun({ result, runMs: performance.now() - ran, ...(reusable === undefined && { createMs }) });
    } catch (error) {
      setRun({ error: messageOf(error) });
    }
    setBusy(false);
  };
  return (
    <div class="page">
      <div class="page-head">
        <h1>Playground</h1>
        <div class="actions filters">
          <select
            class="input"
            aria-label="Language"
            value={language}
            onChange={(event) => {
              const next = event.currentTarget.value as Language;
              setLanguage(next);
              setFirst(languages[next].first);
              setCode(languages[next].first);
            }}
          >
            {Object.entries(languages).map(([key, { name }]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
          <select class="input" aria-label="Env or pool" value={from} onChange={(event) => setFrom(event.currentTarget.value)}>
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
          <button type="button" class="button primary" disabled={isBusy || from === ""} onClick={() => void start()}>
            {isBusy ? "Running…" : "Run"}
          </button>
        </div>
      </div>
      <div class="playground">
        <section class="card" aria-label="Code">
          <h2>{languages[language].file}</h2>
          <Lazy
            load={async () => (await import("../parts/editor.tsx")).Editor}
            props={{ name: languages[language].file, text: first, onChange: setCode, onSave: () => void start() }}
          />
          <p class="hint">
            {reusable === undefined ? `Runs in a new sandbox with a lifetime of ${lifetime}.` : "Runs in the same sandbox again: "}
            {reusable !== undefined && (
              <Link class="mono" href={hrefOf(["sandboxes", reusable])}>
                {reusable}
              </Link>
            )}
          </p>
        </section>
        <Output run={run} isBusy={isBusy} />
      </div>
      <Snippets
        snippet={{
          language,
          code,
          from: from === "" ? "base" : from,
          url: window.location.origin,
          domain: signedIn().domain,
          sandboxUrl: signedIn().sandboxUrl,
        }}
      />
    </div>
  );
}

/** Envs come first, because an Env chooses among its pools. */
function sourceNames(): readonly string[] {
  const env = envs.value.map(({ metadata }) => metadata.name ?? "");
  const alone = pools.value.filter(({ metadata }) => metadata.ownerReferences?.some(({ kind }) => kind === "SandboxEnv") !== true);
  return [...new Set([...env, ...alone.map(({ metadata }) => metadata.name ?? "")])];
}

function Output({ run, isBusy }: { readonly run: Run | undefined; readonly isBusy: boolean }) {
  const { result, error, createMs, runMs } = run ?? {};
  return (
    <section class="card" aria-label="Output" aria-live="polite">
      <h2>Output</h2>
      <div>
        {run === undefined && <p class="hint">Press Run, or Ctrl-S in the code.</p>}
        {isBusy && <p class="hint">Running…</p>}
        {error !== undefined && <p class="error">{error}</p>}
        {result?.startError !== undefined && <p class="error">{result.startError}</p>}
        {result !== undefined && result.stdout !== "" && (
          <pre class="code wrap" tabIndex={0}>
            {result.stdout}
          </pre>
        )}
        {result !== undefined && result.stderr !== "" && (
          <pre class="code wrap error" tabIndex={0}>
            {result.stderr}
          </pre>
        )}
      </div>
      <p class="hint">
        {result !== undefined &&
          `Exit code ${result.exitCode}, ran ${msText(runMs)}${createMs === undefined ? "" : `, sandbox created in ${msText(createMs)}`}`}
        {result?.truncated === true && "; the output is longer than what is shown"}
      </p>
    </section>
  );
}

const forms = { Python: pythonSnippet, TypeScript: typescriptSnippet, curl: curlSnippet } as const;

function Snippets({ snippet }: { readonly snippet: Parameters<typeof pythonSnippet>[0] }) {
  const [form, setForm] = useState<keyof typeof forms>("Python");
  const text = forms[form](snippet);
  return (
    <section class="card">
      <div class="card-head">
        <h2>The same from a program</h2>
        <div class="actions" role="group" aria-label="Form">
          {(Object.keys(forms) as (keyof typeof forms)[]).map((name) => (
            <button key={name} type="button" class="button" aria-pressed={name === form} onClick={() => setForm(name)}>
              {name}
            </button>
          ))}
          <button type="button" class="button" onClick={() => void navigator.clipboard.writeText(text).then(() => tell("Copied"))}>
            Copy
          </button>
        </div>
      </div>
      <pre class="code" tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}

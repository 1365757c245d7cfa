/** An informer of config maps on a scripted server with a stepped clock, and what a test asks of the three. */
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import type { Index } from "#kube/informer/indexed-store.ts";
import { Informer, type InformerOptions } from "#kube/informer/informer.ts";
import { type RecordedLine, recordedLog } from "./recorded-log.ts";
import { ScriptedServer, type ScriptedCall, type ScriptedVerb } from "./scripted-server.ts";
import { SteppedClock } from "./stepped-clock.ts";

export const byColor: Index<ConfigMap> = { name: "color", type: ConfigMaps, extract: ({ data }) => [data?.["color"] ?? "none"] };

export function aMap(name: string, data: Record<string, string> = {}, labels?: Record<string, string>): ConfigMap {
  return { metadata: { namespace: "ns", name, ...(labels === undefined ? {} : { labels }) }, data };
}

export interface View {
  readonly objects: ReadonlySet<ConfigMap>;
  readonly colors: Readonly<Record<string, ReadonlySet<ConfigMap>>>;
}

export class InformerBench implements AsyncDisposable {
  readonly server = new ScriptedServer();
  readonly clock = new SteppedClock();
  readonly informer: Informer<ConfigMap>;
  readonly lines: readonly RecordedLine[];
  /** What a handler was told: `name`, `-name` or `~name` for appeared, gone and changed. */
  readonly story: string[] = [];

  constructor(objects: readonly ConfigMap[] = [], options: Partial<InformerOptions<ConfigMap>> = {}) {
    for (const object of objects) this.server.put(ConfigMaps, object);
    const { log, lines } = recordedLog();
    this.lines = lines;
    const deps = { client: this.server, clock: this.clock, log, random: () => 0.5 };
    this.informer = new Informer(deps, { type: ConfigMaps, indexes: [byColor], ...options });
    this.informer.onChange((now, before) => {
      const sign = now === undefined ? "-" : before === undefined ? "" : "~";
      this.story.push(`${sign}${(now ?? before)?.metadata.name ?? ""}`);
    });
    this.informer.start();
  }

  /** What the cache holds, also by index. */
  cached(): View {
    const { objects } = this.informer;
    const colors = new Set(this.#served().flatMap(byColor.extract));
    return { objects: new Set(objects.list()), colors: byValue(colors, (color) => objects.lookup(byColor, color)) };
  }

  /** What the server holds, with the index computed from scratch. */
  served(): View {
    const all = this.#served();
    const colors = new Set(all.flatMap(byColor.extract));
    return { objects: new Set(all), colors: byValue(colors, (color) => all.filter((object) => byColor.extract(object).includes(color))) };
  }

  calls(verb: ScriptedVerb): readonly ScriptedCall[] {
    return this.server.calls.filter((call) => call.verb === verb);
  }

  #served(): readonly ConfigMap[] {
    return this.server.all(ConfigMaps);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.informer.stop();
  }
}

function byValue(values: Iterable<string>, find: (value: string) => Iterable<ConfigMap>): Record<string, ReadonlySet<ConfigMap>> {
  return Object.fromEntries([...values].map((value) => [value, new Set(find(value))]));
}

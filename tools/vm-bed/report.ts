/** What a guest says of its steps. A line is `::WORD NAME REST`; everything else is output of the step that runs. */

export type ReportLine =
  | { readonly kind: "begins"; readonly step: string }
  | { readonly kind: "passed"; readonly step: string; readonly seconds: number }
  | { readonly kind: "failed"; readonly step: string; readonly seconds: number }
  | { readonly kind: "skipped"; readonly step: string; readonly reason: string }
  | { readonly kind: "fact"; readonly text: string }
  | { readonly kind: "wants-power-cut" }
  | { readonly kind: "finished" }
  | { readonly kind: "output"; readonly text: string };

export function parseReportLine(line: string): ReportLine {
  const [, word = "", step = "", rest = ""] = /^::(\S+) ?(\S*) ?(.*)$/.exec(line) ?? [];
  switch (word) {
    case "begins":
      return { kind: "begins", step };
    case "passed":
    case "failed":
      return { kind: word, step, seconds: Number(rest) };
    case "skipped":
      return { kind: "skipped", step, reason: rest };
    case "fact":
      return { kind: "fact", text: `${step} ${rest}`.trim() };
    case "power-cut":
      return { kind: "wants-power-cut" };
    case "finished":
      return { kind: "finished" };
    default:
      return { kind: "output", text: line };
  }
}

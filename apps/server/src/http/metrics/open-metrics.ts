/** One measured value with its labels. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** A metric and what it stands at. Names of counters are without `_total`, which the text adds. */
export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "info";
  readonly help: string;
  readonly samples: readonly Sample[];
}

export const OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const suffixes = { counter: "_total", gauge: "", info: "_info" } as const;

/** Metrics in the text form of OpenMetrics. */
export function openMetricsText(metrics: readonly Metric[]): string {
  const lines: string[] = [];
  for (const { name, type, help, samples } of metrics) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const { labels, value } of samples) lines.push(`${name}${suffixes[type]}${labelsText(labels)} ${value}`);
  }
  return `${lines.join("\n")}\n# EOF\n`;
}

function labelsText(labels: Sample["labels"]): string {
  const entries = Object.entries(labels ?? {});
  return entries.length === 0
    ? ""
    : `{${entries.map(([name, value]) => `${name}="${escaped(String(value))}"`).join(",")}}`;
}

const escaped = (text: string): string =>
  text.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));

import type { ServerConfig } from "./keys.js";
import type { Notice } from "./notices.js";
import type { ConfigProblem } from "./problem.js";

/** What this version cannot do yet, although the keys for it are known. */
interface Unavailable {
  readonly key: string;
  readonly isOn: (config: ServerConfig) => boolean;
  /**
   * `refuse` where going on would break a promise about safety, identity or placement; `warn` where a service is just
   * not offered. Asked only about keys that the operator set: what the defaults switch on is passed over quietly.
   */
  readonly answer: "refuse" | "warn";
  readonly says: string;
}

const UNAVAILABLE: readonly Unavailable[] = [
  {
    key: "cluster.enabled",
    isOn: ({ cluster }) => cluster.enabled,
    answer: "refuse",
    says: "this version runs single nodes only",
  },
  {
    key: "external_auth.enabled",
    isOn: ({ externalAuth }) => externalAuth.enabled,
    answer: "refuse",
    says: "this version has no external authentication",
  },
  {
    key: "http.web_ui",
    isOn: ({ http }) => http.webUi,
    answer: "warn",
    says: "this version has no dashboard",
  },
  {
    key: "telemetry.enabled",
    isOn: ({ telemetry }) => telemetry.enabled,
    answer: "warn",
    says: "this version exports no telemetry",
  },
  {
    key: "compatibility.legacy_clients",
    isOn: ({ compatibility }) => compatibility.legacyClients,
    answer: "warn",
    says: "this version refuses clients of protocol 0.11.0",
  },
];

type SetKeys = ReadonlyMap<string, string>;

export function unavailableProblems(config: ServerConfig, setKeys: SetKeys): ConfigProblem[] {
  return asked(config, setKeys, "refuse").map(({ key, says }) => ({
    key,
    source: setKeys.get(key) ?? key,
    rule: says,
  }));
}

export function unavailableNotices(config: ServerConfig, setKeys: SetKeys): Notice[] {
  return asked(config, setKeys, "warn").map(({ key, says }) => ({ level: "warn", message: `${key}: ${says}` }));
}

function asked(config: ServerConfig, setKeys: SetKeys, answer: Unavailable["answer"]): Unavailable[] {
  return UNAVAILABLE.filter((feature) => feature.answer === answer && setKeys.has(feature.key) && feature.isOn(config));
}

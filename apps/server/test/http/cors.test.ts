import { afterEach, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";

let server: RunningServer | undefined;

afterEach(() => server?.close());

const start = async (cors: Readonly<Record<string, string | boolean>> = {}): Promise<string> => {
  const config = Object.fromEntries(Object.entries(cors).map(([name, value]) => [`http.cors.${name}`, value]));
  server = await startServer({ config });
  return `http://${server.addresses.http ?? ""}`;
};

const preflight = (base: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${base}/streams`, {
    method: "OPTIONS",
    headers: { origin: "https://app.example", "access-control-request-method": "POST", ...headers },
  });

const shown = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control") || name === "vary"));

describe("cross-origin requests", () => {
  it("are admitted from anywhere by default, preflights without a credential", async () => {
    const base = await start();
    const answer = await preflight(base);
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
    expect(shown(answer)).toEqual({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, POST, PUT, DELETE",
      "access-control-allow-headers": "content-type, authorization",
    });
    const read = await fetch(`${base}/ping`, { headers: { origin: "https://app.example" } });
    expect(shown(read)).toEqual({
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "iggy-view",
    });
    const refused = await fetch(`${base}/streams`, { headers: { origin: "https://app.example" } });
    expect([refused.status, shown(refused)["access-control-allow-origin"]]).toEqual([401, "*"]);
  });

  it("are admitted from the listed origins only, with credentials where configured", async () => {
    const base = await start({
      allowed_origins: '["https://app.example", ""]',
      allow_credentials: true,
      allow_private_network: true,
    });
    const answer = await preflight(base, { "access-control-request-private-network": "true" });
    expect(shown(answer)).toEqual({
      vary: "Origin",
      "access-control-allow-origin": "https://app.example",
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "GET, POST, PUT, DELETE",
      "access-control-allow-headers": "content-type, authorization",
      "access-control-allow-private-network": "true",
    });
    const other = await preflight(base, { origin: "https://evil.example" });
    expect([other.status, shown(other)]).toEqual([204, { vary: "Origin" }]);
  });

  it("get no private network unless configured", async () => {
    const answer = await preflight(await start(), { "access-control-request-private-network": "true" });
    expect(shown(answer)).not.toHaveProperty("access-control-allow-private-network");
  });

  it("get nothing when switched off", async () => {
    const base = await start({ enabled: false });
    const answer = await preflight(base);
    expect([answer.status, shown(answer)]).toEqual([405, {}]);
  });

  it("OPTIONS that is no preflight is a method that no path has", async () => {
    const base = await start();
    expect((await fetch(`${base}/streams`, { method: "OPTIONS" })).status).toBe(405);
  });
});

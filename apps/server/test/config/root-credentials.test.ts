import { describe, expect, it } from "vitest";
import { problemsOf, read } from "./read.js";

const withRoot = { "/srv/local_data/metadata": "" };
const none = { IGGY_ROOT_USERNAME: "", IGGY_ROOT_PASSWORD: "" };

describe("root credentials", () => {
  it("come from the two variables", () => {
    const credentials = read().rootCredentials;
    expect(credentials?.username).toBe("root");
    expect(credentials?.password.reveal()).toBe("secret");
    expect(JSON.stringify(credentials)).not.toContain("secret");
  });

  it("must both be set on the start that creates the root user, or the flag given", () => {
    const [problem = ""] = problemsOf({ environment: none });
    expect(problem).toContain("IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD: must both be set");
    expect(problem).toContain("--with-default-root-credentials");
  });

  it("are needed again when --fresh deletes the root user", () => {
    expect(problemsOf({ environment: none, files: withRoot })).toEqual([]);
    expect(problemsOf({ environment: none, files: withRoot, arguments: { fresh: true } })).toHaveLength(1);
  });

  it.each([
    [{ IGGY_ROOT_PASSWORD: "" }, "IGGY_ROOT_PASSWORD: must be set together with IGGY_ROOT_USERNAME"],
    [{ IGGY_ROOT_USERNAME: "" }, "IGGY_ROOT_USERNAME: must be set together with IGGY_ROOT_PASSWORD"],
    [{ IGGY_ROOT_USERNAME: "ro" }, "IGGY_ROOT_USERNAME: must be 3 to 50 bytes long, and is 2"],
    [{ IGGY_ROOT_USERNAME: "ä".repeat(26) }, "IGGY_ROOT_USERNAME: must be 3 to 50 bytes long, and is 52"],
    [{ IGGY_ROOT_PASSWORD: "x".repeat(101) }, "IGGY_ROOT_PASSWORD: must be 3 to 100 bytes long, and is 101"],
  ])("%j is refused, also where a root user exists", (environment, problem) => {
    expect(problemsOf({ environment })).toEqual([`  - ${problem}`]);
    expect(problemsOf({ environment, files: withRoot })).toEqual([`  - ${problem}`]);
  });

  it("the flag fills what is missing and warns", () => {
    const flag = { withDefaultRootCredentials: true };
    const both = read({ environment: none, arguments: flag });
    expect(both.rootCredentials?.username).toBe("iggy");
    expect(both.rootCredentials?.password.reveal()).toBe("iggy");
    expect(both.notices.some(({ level, message }) => level === "warn" && message.includes("default credentials"))).toBe(
      true,
    );
    const one = read({ environment: { IGGY_ROOT_PASSWORD: "" }, arguments: flag });
    expect(one.rootCredentials?.username).toBe("root");
    expect(one.rootCredentials?.password.reveal()).toBe("iggy");
  });

  it("the flag is ignored, with a word, when both are set", () => {
    const { rootCredentials, notices } = read({ arguments: { withDefaultRootCredentials: true } });
    expect(rootCredentials?.password.reveal()).toBe("secret");
    expect(notices.some(({ message }) => message.includes("is ignored"))).toBe(true);
  });
});

describe("--replica-id", () => {
  it("is 0 or absent on a node of its own", () => {
    expect(problemsOf({ arguments: { replicaId: 0 } })).toEqual([]);
    expect(problemsOf({ arguments: { replicaId: 1 } })).toEqual([
      "  - --replica-id = 1: must be 0 or absent while `cluster.enabled` is off",
    ]);
  });

  it("must name a node of a cluster", () => {
    const toml = 'cluster.enabled = true\n[[cluster.nodes]]\nname = "a"\nip = "10.0.0.1"\nreplica_id = 0\n';
    expect(problemsOf({ toml }).join("\n")).toContain("--replica-id: is needed while `cluster.enabled` is on");
    expect(problemsOf({ toml, arguments: { replicaId: 7 } }).join("\n")).toContain("--replica-id = 7: names no node");
    expect(problemsOf({ toml, arguments: { replicaId: 0 } }).join("\n")).not.toContain("--replica-id");
  });
});

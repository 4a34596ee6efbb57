import { describe, expect, it } from "vitest";
import { parseArguments, usageText } from "../../src/config/index.js";

const plain = { command: "run", fresh: false, withDefaultRootCredentials: false };

describe("command line", () => {
  it.each([
    [[], plain],
    [["-f"], { ...plain, fresh: true }],
    [["--fresh", "--with-default-root-credentials"], { ...plain, fresh: true, withDefaultRootCredentials: true }],
    [["--replica-id", "0"], { ...plain, replicaId: 0 }],
    [["--replica-id=255"], { ...plain, replicaId: 255 }],
    [["--config", "a=b.toml"], { ...plain, configFile: "a=b.toml" }],
    [["--config=a=b.toml"], { ...plain, configFile: "a=b.toml" }],
    [["--list-config-env-vars", "--fresh"], { command: "list-config-env-vars" }],
    [["-h"], { command: "help" }],
    [["--fresh", "--help"], { command: "help" }],
    [["-V"], { command: "version" }],
    [["--version"], { command: "version" }],
  ])("%j", (argv, command) => {
    expect(parseArguments(argv)).toEqual(command);
  });

  it.each([
    [["--frsh"], "unexpected argument '--frsh'"],
    [["serve"], "unexpected argument 'serve'"],
    [[""], "unexpected argument ''"],
    [["--fresh=yes"], "the argument '--fresh' takes no value, in '--fresh=yes'"],
    [["-f", "--fresh"], "the argument '--fresh' cannot be used twice"],
    [["--replica-id"], "the argument '--replica-id' needs a value"],
    [["--config="], "the argument '--config' needs a value"],
    [["--replica-id", "256"], "invalid value '256' for '--replica-id'"],
    [["--replica-id", "-1"], "invalid value '-1' for '--replica-id'"],
    [["--replica-id", "one", "--list-config-env-vars"], "invalid value 'one' for '--replica-id'"],
  ])("%j is refused", (argv, message) => {
    const command = parseArguments(argv);
    expect(command.command).toBe("refuse");
    if (command.command === "refuse") expect(command.message).toContain(`error: ${message}`);
  });

  it("the usage names every flag", () => {
    for (const flag of ["-f, --fresh", "--with-default-root-credentials", "--replica-id <N>", "--config <FILE>"]) {
      expect(usageText()).toContain(flag);
    }
  });
});
